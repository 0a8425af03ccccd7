package ui

import "testing"

// Who may see one namespace sees no name of another one.
func TestMasked(t *testing.T) {
	const text = `{"pod":"shop/api-1","why":"other/db-2 is there (other-2/x), shop/api-2; eu/other/x, Deployment other/web"}`
	const want = `{"pod":"shop/api-1","why":"(another namespace's) is there ((another namespace's)), shop/api-2; ` +
		`eu/other/x, Deployment (another namespace's)"}`
	if got := string(masked([]byte(text), "shop", []string{"shop", "other", "other-2"})); got != want {
		t.Errorf("got %s", got)
	}
}
