package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// tree is the state of the repository.
type tree struct {
	commit  string
	changes []string // as git lists them
}

func treeOf(ctx context.Context, folder string) (tree, error) {
	commit, err := git(ctx, folder, "rev-parse", "HEAD")
	if err != nil {
		return tree{}, fmt.Errorf("read which commit is to be released: %w; a release is made in a git repository", err)
	}
	// Files that git does not know, too: the compiler takes them.
	changes, err := git(ctx, folder, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return tree{}, fmt.Errorf("read what has changed since the commit: %w", err)
	}
	t := tree{commit: strings.TrimSpace(commit)}
	for line := range strings.Lines(changes) {
		t.changes = append(t.changes, strings.TrimRight(line, "\n"))
	}
	return t, nil
}

func git(ctx context.Context, folder string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// clean refuses a tree that no commit names: the same build could not be made again.
func (t tree) clean() error {
	if len(t.changes) == 0 {
		return nil
	}
	const show = 5
	some, more := t.changes, ""
	if len(some) > show {
		some, more = some[:show], fmt.Sprintf("\n  and %d more", len(t.changes)-show)
	}
	return fmt.Errorf("the tree has changes that are in no commit:\n  %s%s\ncommit or remove them; or try it out with "+
		"RELEASE_FLAGS=--allow-dirty",
		strings.Join(some, "\n  "), more)
}

var tag = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
var afterTag = regexp.MustCompile(`-\d+-g[0-9a-f]{7,}$`)

// tagged tells a version's tag from what git describe says of any other commit.
func tagged(version string) bool {
	return tag.MatchString(version) && !afterTag.MatchString(version) && !strings.HasSuffix(version, "-dirty")
}
