package gardener

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// complaint is what operators complain about, by its issues.
type complaint struct {
	issues string
	// by are the tests that name it, "folder: test", or a scenario's file.
	by []string
	// why says, where nothing is listed, why that is so.
	why string
}

const (
	here   = "providers/gardener: "
	sizing = "internal/decide/pool: "
)

// complaints are those that are known, of gardener/autoscaler if nothing else is said;
// mcm is gardener/machine-controller-manager, gardener gardener/gardener.
var complaints = []complaint{
	// Limits that are parted over zones.
	{"gardener#8142 gardener#2014", []string{here + "Test8142AZoneIsAdded", sizing + "Test8142AZoneIsAdded"}, ""},
	{"mcm#798 gardener#4910", nil, "maxSurge is spent by machine-controller-manager and divided over zones by the controller that writes the MachineDeployments; nothing of it is read or written here"},
	{"gardener#7857", []string{here + "Test7857AnotherZoneHasTheMinimum", sizing + "Test7857TheMinimumIsNotTheFirstZones", "internal/sim/testdata/better_pool_without_quota.txt"}, ""},
	{"gardener#7834 gardener#7878", []string{here + "TestFewerThanZones"}, ""},
	{"#104", []string{here + "Test104AZoneWithAMaximumOfZero"}, ""},
	{"mcm#234", []string{here + "TestTemplateOfAMachineClass", "internal/decide/testdata/zone_spread.txt"}, ""},
	// Groups that come and go.
	{"gardener#8593 #29", []string{here + "Test29AMissingMachineDeployment"}, ""},
	{"#353", []string{here + "Test353MachinesOfARemovedPool"}, ""},
	{"gardener#7057", []string{here + "Test7057LimitsCountAtOnce"}, ""},
	{"gardener#7485 #189", []string{here + "Test189PausedIsLeftAlone"}, ""},
	// Growth that fails.
	{"#330 mcm#952 mcm#956 #253", []string{here + "Test330QuotaIsSeenAtOnce", "internal/sim/testdata/better_elsewhere_at_once.txt"}, ""},
	{"gardener#8534", []string{here + "Test7857AnotherZoneHasTheMinimum", sizing + "Test8534AZoneIsOut"}, ""},
	{"#370 #176", []string{"internal/config: TestTheCommandLineOfGardener"}, ""},
	{"#67 gardener#3290", []string{here + "Test67ASecondGrowthRightAfterTheFirst", "internal/decide/testdata/upcoming.txt"}, ""},
	{"#216", []string{here + "Test216NoWriteIsTriedForEver"}, ""},
	{"#60", []string{here + "Test60NothingIsAskedWhileMCMIsAway"}, ""},
	{"mcm#82 mcm#88 mcm#346", []string{here + "Test82AFreezeIsExplained"}, ""},
	// What a new node is like.
	{"#27 #132 #334 #393 gardener#5212", []string{here + "TestTemplateOfAMachineClass"}, ""},
	{"#36", []string{here + "Test36AllNodesAreCordoned"}, ""},
	{"gardener-extension-networking-calico#767", []string{"internal/decide/testdata/daemonset_overhead.txt", "internal/sim/testdata/better_brake.txt"}, ""},
	{"gardener#10227", []string{here + "Test10227ANodeThatWaitsForItsComponents"}, ""},
	// Rollouts.
	{"mcm#1014", []string{here + "TestARolloutWithAMachineThatNeverRegistered"}, ""},
	{"mcm#754 mcm#802 mcm#816 mcm#826", []string{here + "Test754NothingIsLoweredDuringARollout"}, ""},
	// The wrong machine, or one too many.
	{"#159 #328 #342 #64", []string{here + "Test159StalePrioritiesDeleteNoMachine", here + "TestTheNewestOfThreeGoes"}, ""},
	{"mcm#965 #341", []string{here + "TestARestartInTheMiddleOfADeletion"}, ""},
	{"mcm#1084 mcm#1085 mcm#1087 #401", []string{here + "TestDeleteThenGrowWithinASecond"}, ""},
	{"mcm#1078", []string{here + "TestTwoDeletionsAtOnce"}, ""},
	{"#437 #438", []string{here + "Test437NothingLeftToDoIsNoError"}, ""},
	{"#118", []string{here + "Test118FailedMachinesAreOnTheirWayOut"}, ""},
	{"#87 #30", []string{here + "Test87TheMinimumHoldsForAllOfARequest", sizing + "Test30ThePoolIsRaisedAgain"}, ""},
	{"mcm#741", []string{here + "Test741TakingBackEndsNoMachine"}, ""},
	{"mcm#758", []string{"internal/decide/testdata/leaving_by_others.txt"}, ""},
	{"gardener#14189", []string{here + "Test14189ReplicasThatGardenerSetsStay"}, ""},
	{"deckhouse#13500", []string{here + "TestDeleteThenGrowWithOlderMarkers", here + "TestConformsWithOlderMarkers"}, ""},
	// When nodes go.
	{"gardener#11132", []string{here + "Test11132NoTimeIsRaised"}, ""},
	{"#227", nil, "a wish: that a person may have one node ended for good; machine-controller-manager would have to lower the target with it, and nothing here takes orders about single nodes"},
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// TestEveryComplaintIsAnswered: each complaint has a test that there is, or a reason;
// and each test that is named for an issue is in the list.
func TestEveryComplaintIsAnswered(t *testing.T) {
	tests := map[string][]string{} // by folder
	in := func(folder string) []string {
		if _, ok := tests[folder]; ok {
			return tests[folder]
		}
		entries, err := os.ReadDir("../../" + folder)
		if err != nil {
			t.Fatal(err)
		}
		tests[folder] = []string{}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			body, err := os.ReadFile("../../" + folder + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range testFunc.FindAllStringSubmatch(string(body), -1) {
				tests[folder] = append(tests[folder], m[1])
			}
		}
		return tests[folder]
	}
	var named []string
	seen := map[string]bool{}
	for _, c := range complaints {
		for _, issue := range strings.Fields(c.issues) {
			if seen[issue] {
				t.Errorf("%s is listed twice", issue)
			}
			seen[issue] = true
		}
		if (len(c.by) == 0) != (c.why != "") {
			t.Errorf("%s: there is to be a test, or a reason", c.issues)
		}
		for _, by := range c.by {
			named = append(named, by)
			folder, name, isTest := strings.Cut(by, ": ")
			if isTest && !slices.Contains(in(folder), name) {
				t.Errorf("%s: there is no %s in %s", c.issues, name, folder)
			}
			if _, err := os.Stat("../../" + by); !isTest && err != nil {
				t.Errorf("%s: %v", c.issues, err)
			}
		}
	}
	for _, folder := range []string{here, sizing} {
		for _, name := range in(strings.TrimSuffix(folder, ": ")) {
			if numbered := regexp.MustCompile(`^Test\d`).MatchString(name); numbered && !slices.Contains(named, folder+name) {
				t.Errorf("%s%s is named for an issue, and not listed", folder, name)
			}
		}
	}
}
