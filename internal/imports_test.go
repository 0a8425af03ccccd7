// Package internal_test holds the conventions that are executed as tests.
package internal_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/plimsoll-dev/plimsoll/"

type pkg struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	GoFiles    []string
}

// local is the package's path within the module.
func (p pkg) local() string { return strings.TrimPrefix(p.ImportPath, module) }

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,GoFiles", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// rule says what packages below a folder may import of this module, and why.
type rule struct {
	folder string
	may    []string
	why    string
}

var rules = []rule{
	{"provider", nil, "authors of providers must not be made to drag anything of ours along"},
	{"provider/providertest", []string{"provider"}, "every provider's tests run it"},
	{"provider/wiring", []string{"provider"}, "what a host and a provider hand each other; it knows neither"},
	{"providers/kwok", []string{"provider", "provider/wiring", "providers/kube"}, "a provider knows the contract and its own cloud"},
	{"providers/aws", []string{"provider", "provider/wiring"}, "a provider knows the contract and its own cloud"},
	{"providers/aws/internal", []string{"providers/aws"}, "it writes what the provider embeds"},
	{"providers/aws/awstest", nil, "a server that tests start"},
	{"providers/aws/awstest/door", []string{"provider", "provider/providertest", "providers/aws/awstest"}, "the conformance suite's hand on that server"},
	{"providers/kubetest", nil, "an API server that tests start"},
	{"providers/kube", []string{"provider"}, "it puts what an API server says into the contract's words, and knows no cloud"},
	{"providers/gardener", []string{"provider", "provider/wiring", "providers/gardener/v1alpha1", "providers/kube"}, "a provider knows the contract and its own cloud"},
	{"providers/gardener/v1alpha1", nil, "types only"},
	{"providers/gardener/mcm", []string{"providers/gardener/v1alpha1"}, "what machine-controller-manager decides, for both stand-ins"},
	{"providers/gardener/gardenertest", []string{"providers/gardener/mcm", "providers/gardener/v1alpha1", "providers/kubetest"}, "a server that tests start"},
	{"providers/gardener/gardenertest/door", []string{"provider", "provider/providertest", "providers/gardener/gardenertest", "providers/gardener/v1alpha1", "providers/kubetest"}, "the conformance suite's hand on that server"},
	{"providers/clusterapi", []string{"provider", "provider/wiring", "providers/kube"}, "a provider knows the contract and its own cloud"},
	{"providers/clusterapi/clusterapitest", []string{"providers/kubetest"}, "a server that tests start"},
	{"providers/clusterapi/clusterapitest/door", []string{"provider", "provider/providertest", "providers/clusterapi/clusterapitest", "providers/kubetest"}, "the conformance suite's hand on that server"},
	{"controllers/host", nil, "what controllers have in common knows none of them"},
	{"controllers/host/hosttest", nil, "an API server in memory, for tests of controllers"},
	{"controllers/eksanywhere/v1alpha1", nil, "types only"},
	{"controllers/eksanywhere/workers", []string{"controllers/eksanywhere/v1alpha1"}, "it decides from values, and knows no cluster"},
	{"controllers/eksanywhere", []string{"controllers/eksanywhere/v1alpha1", "controllers/eksanywhere/workers", "controllers/host"}, "a controller beside the loop"},
	{"controllers/gardener/v1beta1", nil, "types only"},
	{"controllers/gardener/v1alpha1", []string{"controllers/gardener/v1beta1"}, "types only; its Clusters carry Shoots"},
	{"controllers/gardener/pools", []string{"controllers/gardener/v1alpha1", "controllers/gardener/v1beta1", "providers/gardener/v1alpha1"}, "it decides from values, and knows no cluster"},
	{"controllers/gardener", []string{"controllers/gardener", "controllers/host", "providers/gardener/v1alpha1"}, "a controller beside the loop; it shares the provider's types and nothing else of it"},
	{"internal/model", []string{"internal/budget", "internal/policy", "provider"}, "values only"},
	{"internal/budget", []string{"internal/policy", "internal/window", "provider"}, "it counts what goes against what may, from values"},
	{"internal/policy", []string{"internal/window", "provider"}, "it settles what holds for a group, from values"},
	{"internal/snapshot", []string{"internal/model", "provider"}, "an algorithm over values"},
	{"internal/catalog", []string{"internal/model"}, "it interns what model names"},
	{"internal/growth", []string{"internal/model", "provider"}, "the life of a node that comes, as values: the ledger keeps them"},
	{"internal/ledger", []string{"internal/budget", "internal/growth", "internal/move", "internal/removal", "internal/model", "provider"}, "a fold over observations and outcomes, which hands events on to the life that they are of"},
	{"internal/schedsim", []string{"internal/model", "provider"}, "it answers in the model's terms"},
	{"internal/pack", nil, "arithmetic: what its numbers stand for is the caller's"},
	{"internal/window", nil, "the calendar, for policies and budgets: what a window is for is the caller's"},
	{"internal/move", []string{"internal/model", "provider"}, "the life of a move, as values: the ledger keeps them"},
	{"internal/removal", []string{"internal/removal", "internal/model"}, "the life of a node that goes, as values: who decides and who remembers both call it"},
	{"internal/gate", []string{"internal/model", "provider"}, "one question about one group, asked by all of deciding"},
	{"internal/decide", []string{"internal/budget", "internal/decide", "internal/gate", "internal/pack", "internal/removal", "internal/schedsim", "internal/model", "provider"}, "deciding is pure, and goes down only"},
	{"internal/loop", []string{"internal/decide", "internal/ledger", "internal/model", "internal/snapshot"}, "it defines its ports and imports none that fill them"},
	{"internal/inventory", []string{"provider"}, "pure: what to believe of answers"},
	{"internal/observe", []string{"internal/model", "internal/catalog", "internal/inventory", "internal/policy", "provider"}, "it fills a port of the loop without knowing the loop"},
	{"internal/act", []string{"internal/model", "provider"}, "it fills a port of the loop without knowing the loop"},
	{"internal/report", []string{"internal/budget", "internal/report", "internal/model", "provider"}, "it renders a cycle and nothing else"},
	{"internal/decisions", []string{"internal/model", "provider"}, "it keeps what a cycle decided, and makes no request"},
	{"internal/ui", []string{"internal/budget", "internal/cli", "internal/decisions", "internal/explain", "internal/model", "provider"}, "it shows what a cycle saw and decided, and decides nothing"},
	{"internal/spelling", nil, "words only, for every package of internal/"},
	{"internal/config/v1alpha1", nil, "types, and how they are read: what values mean is config's"},
	{"internal/config", []string{"internal/budget", "internal/config", "internal/model", "internal/policy", "internal/window", "provider", "provider/wiring"}, "values, for hosts to hand out; of providers it knows a list"},
	{"internal/providers", []string{"provider/wiring", "providers"}, "the one list of them"},
	{"internal/clusterfile", []string{"internal/model", "internal/observe", "internal/report/status", "internal/snapshot", "provider"}, "a cluster as a value, with what observe reads of it and the memory as status writes it"},
	{"internal/ask", []string{"internal/ledger", "internal/loop", "internal/model", "internal/observe", "internal/schedsim", "provider"}, "it turns the loop's crank on values, and reads nothing itself"},
	{"internal/calibrate", []string{"internal/catalog", "internal/decide", "internal/model", "internal/snapshot", "provider"}, "it takes the time of decisions, by a clock that it is given"},
	{"internal/explain", []string{"internal/budget", "internal/window", "internal/catalog", "internal/decide",
		"internal/removal/rules", "internal/schedsim", "internal/snapshot", "internal/model",
		"provider"}, "it answers with what deciding says, and renders nothing"},
	{"internal/migrate", []string{"internal/config", "internal/config/v1alpha1", "provider/wiring"},
		"it reads flags as a run does, writes files as a run reads them, and asks no cluster"},
	{"internal/sim/check", nil, "a judge that asks the product for its thresholds judges nothing"},
	{"internal/cli", []string{"provider", "internal/budget", "internal/decisions", "internal/explain", "internal/model", "internal/report/status"}, "it renders values"},
}

// TestImportsGoDownOnly: every package imports of this module only what its
// rule allows.
func TestImportsGoDownOnly(t *testing.T) {
	for _, p := range list(t) {
		r, ok := ruleFor(p.local())
		if !ok {
			continue
		}
		for _, imp := range p.Imports {
			local, ours := strings.CutPrefix(imp, module)
			if !ours || local == p.local() || local == "internal/spelling" && within(p.local(), "internal") {
				continue
			}
			if !slices.ContainsFunc(r.may, func(folder string) bool { return within(local, folder) }) {
				t.Errorf("%s imports %s: %s", p.local(), local, r.why)
			}
		}
	}
}

func ruleFor(local string) (rule, bool) {
	best, found := rule{}, false
	for _, r := range rules {
		if within(local, r.folder) && len(r.folder) > len(best.folder) {
			best, found = r, true
		}
	}
	return best, found
}

func within(path, folder string) bool {
	if folder == "provider" {
		return path == folder // not its test suite
	}
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// TestEveryPackageIsCovered: a new package gets a rule, or is a host or a
// helper of tests.
func TestEveryPackageIsCovered(t *testing.T) {
	hosts := []string{"cmd", "bench", "internal/sim", "internal/testkit", "internal/mutants", "internal"}
	for _, p := range list(t) {
		_, ok := ruleFor(p.local())
		if !ok && !slices.ContainsFunc(hosts, func(h string) bool {
			return p.local() == h || (h != "internal" && within(p.local(), h))
		}) {
			t.Errorf("%s has no import rule", p.local())
		}
	}
}

// TestTheSchedulerIsBehindTwoDoors: of what ships, only schedsim imports k8s.io/kubernetes, so that its
// inside can be replaced. The virtual world has a door of its own, or its scheduler would err where the
// planner does (ADR 38).
func TestTheSchedulerIsBehindTwoDoors(t *testing.T) {
	doors := map[string]bool{"internal/schedsim": false, "internal/sim/kubesched": false}
	for _, p := range list(t) {
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, "k8s.io/kubernetes/") {
				continue
			}
			if _, ok := doors[p.local()]; !ok {
				t.Errorf("%s imports %s", p.local(), imp)
			}
			doors[p.local()] = true
		}
	}
	for door, used := range doors {
		if !used {
			t.Errorf("%s does not import k8s.io/kubernetes any more: this rule is stale", door)
		}
	}
}

// TestDecidingIsPure: what decides has no clock, no I/O and no clients.
func TestDecidingIsPure(t *testing.T) {
	pure := []string{"internal/model", "internal/snapshot", "internal/ledger", "internal/removal", "internal/growth",
		"internal/move", "internal/gate", "internal/schedsim", "internal/pack", "internal/decide", "internal/explain",
		"internal/window", "internal/policy", "internal/budget"}
	banned := map[string]string{
		"os": "I/O", "net": "I/O", "net/http": "I/O", "math/rand": "chance that no seed governs",
		"k8s.io/client-go/kubernetes": "clients", "k8s.io/client-go/rest": "clients",
		"github.com/prometheus/client_golang/prometheus": "only report speaks", "log/slog": "only report speaks",
	}
	calls := map[string]string{
		"time.Now":   "the clock is the snapshot's Now",
		"time.Since": "the clock is the snapshot's Now",
		"time.After": "waiting",
	}
	for _, p := range list(t) {
		if !slices.ContainsFunc(pure, func(folder string) bool { return within(p.local(), folder) }) {
			continue
		}
		for _, imp := range p.Imports {
			if why, bad := banned[imp]; bad {
				t.Errorf("%s imports %s: %s", p.local(), imp, why)
			}
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok {
					if why, bad := calls[x.Name+"."+sel.Sel.Name]; bad {
						t.Errorf("%s/%s uses %s.%s: %s", p.local(), name, x.Name, sel.Sel.Name, why)
					}
				}
				return true
			})
		}
	}
}

// TestEveryPackageTellsItsStory: each has exactly one file with a package
// comment, of more than a line.
func TestEveryPackageTellsItsStory(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		told := 0
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil,
				parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if file.Doc != nil {
				told++
				if len(strings.Split(strings.TrimSpace(file.Doc.Text()), "\n")) < 2 {
					t.Errorf("%s/%s: the package comment is one line", p.local(), name)
				}
			}
		}
		if told != 1 {
			t.Errorf("%s has %s package comments", p.local(), strconv.Itoa(told))
		}
	}
}

// TestNoTestCodeInProduction: only packages made for tests import testing, or each
// other.
func TestNoTestCodeInProduction(t *testing.T) {
	for _, p := range list(t) {
		if madeForTests(p.local()) {
			continue
		}
		for _, imp := range p.Imports {
			local, ours := strings.CutPrefix(imp, module)
			if imp == "testing" || ours && madeForTests(local) {
				t.Errorf("%s imports %s", p.local(), imp)
			}
		}
	}
}

// madeForTests: the virtual world and the benchmarks, testkit, and by their names the
// servers and suites of providers and controllers, with what lies below.
func madeForTests(local string) bool {
	for _, folder := range []string{"internal/sim", "internal/testkit", "bench"} {
		if within(local, folder) {
			return true
		}
	}
	return slices.ContainsFunc(strings.Split(local, "/"), func(part string) bool {
		return strings.HasSuffix(part, "test")
	})
}
