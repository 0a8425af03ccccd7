package kwok

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// letters has no vowels, so that random names spell no words.
	letters      = "bcdfghjklmnpqrstvwxz"
	suffixLength = 5
	// A node's name is also the value of its hostname label, hence a label
	// value's length and not a DNS name's.
	maxNodeName = validation.LabelValueMaxLength
)

// nodeName draws a name "<group>-<5 random letters>" that is a valid DNS-1123
// subdomain name whatever the group is called. Names need to be unique, not to
// tell the group: an annotation does that.
func nodeName(groupName string) string {
	var b strings.Builder
	b.WriteString(nodePrefix(groupName))
	b.WriteByte('-')
	for range suffixLength {
		b.WriteByte(letters[rand.IntN(len(letters))])
	}
	return b.String()
}

// nodePrefix is the group's name itself where that can begin a node's name, and
// the nearest to it that can where it cannot.
func nodePrefix(groupName string) string {
	const longest = maxNodeName - suffixLength - 1
	if len(groupName) <= longest && len(validation.IsDNS1123Subdomain(groupName)) == 0 {
		return groupName
	}
	var b strings.Builder
	dash := true // never begin with one, nor repeat it
	for _, r := range strings.ToLower(groupName) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
			dash = false
			continue
		}
		if !dash {
			b.WriteByte('-')
			dash = true
		}
	}
	prefix := b.String()
	prefix = strings.Trim(prefix[:min(len(prefix), longest)], "-")
	if prefix == "" {
		return "kwok"
	}
	return prefix
}

// drawnName is the name of a group whose template gives none: random to look
// at, but drawn from a hash, so that the next start finds its nodes again. The
// draw counts up when a name is taken, as by two templates that are the same.
func drawnName(seed []byte, draw int) string {
	sum := sha256.Sum256(fmt.Appendf(slices.Clip(seed), "\n%d", draw))
	n := binary.BigEndian.Uint64(sum[:])
	name := []byte("kwok-")
	for range 8 {
		name = append(name, letters[n%uint64(len(letters))])
		n /= uint64(len(letters))
	}
	return string(name)
}

// seedOf is what a template's drawn name is drawn from: the whole template and
// its name. Of a node of the cluster it is the name alone: a live node's
// labels and memory change a little now and then, and its group must not become
// another one by that.
func seedOf(original, clean *corev1.Node, ofCluster bool) ([]byte, error) {
	if ofCluster {
		return []byte(original.Name), nil
	}
	body, err := json.Marshal(clean)
	if err != nil {
		return nil, fmt.Errorf("hash the template: %w", err)
	}
	return append([]byte(original.Name+"\n"), body...), nil
}
