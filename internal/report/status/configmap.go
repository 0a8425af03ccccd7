package status

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// DocumentIn reads the document in a ConfigMap; text is as it is there.
func DocumentIn(m *corev1.ConfigMap) (d Document, text string, err error) {
	text, ok := m.Data[Key]
	if !ok {
		return Document{}, "", fmt.Errorf("read the ConfigMap %s/%s: %w", m.Namespace, m.Name,
			errors.New("it has no key "+Key))
	}
	if d, err = parse(text); err != nil {
		return Document{}, text, fmt.Errorf("read the key %s of the ConfigMap %s/%s: %w", Key, m.Namespace, m.Name, err)
	}
	return d, text, nil
}

// MemoryIn reads the memory in a ConfigMap, and its time: zero if there is none. Without the
// annotation the memory is empty.
func MemoryIn(m *corev1.ConfigMap) (model.Memory, error) {
	text, ok := m.Annotations[MemoryAnnotation]
	if !ok {
		return model.Memory{}, nil
	}
	memory, err := ParseMemory(text, stamped(m.Annotations[MemoryWritten]))
	if err != nil {
		return model.Memory{}, fmt.Errorf("read the annotation %s of the ConfigMap %s/%s: %w", MemoryAnnotation,
			m.Namespace, m.Name, err)
	}
	return memory, nil
}

// Put writes a document and a memory into a ConfigMap, with one time for both, and keeps everything
// else in it. An empty memory keeps the existing one and its time: else that would look newer with
// every document.
func Put(m *corev1.ConfigMap, document, made, memory string) {
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[Key] = document
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[LastUpdated] = made
	if memory != "" {
		m.Annotations[MemoryAnnotation], m.Annotations[MemoryWritten] = memory, made
	}
}
