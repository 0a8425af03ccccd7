package kube

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Whole is an error for an answer that is not a complete list. An answer that is no list at all (an
// empty body, another kind) may decode without an error, and would read as "there are none".
func Whole(answer *unstructured.UnstructuredList) error {
	if answer.GetResourceVersion() == "" {
		return errors.New("the answer is not a list: it has no resourceVersion")
	}
	if answer.GetContinue() != "" {
		return errors.New("the answer is only a part of the list, and all of it was asked for")
	}
	return nil
}
