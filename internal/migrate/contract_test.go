package migrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// contract is what users of the Cluster Autoscaler have come to rely on, beside its
// flags: docs/migrate.md has a row for each, by the part that it is in.
var contract = map[string]string{
	"Pods": `cluster-autoscaler.kubernetes.io/safe-to-evict cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes
		cluster-autoscaler.kubernetes.io/pod-scale-up-delay cluster-autoscaler.kubernetes.io/enable-ds-eviction cluster-autoscaler.kubernetes.io/daemonset-pod
		autoscaling.x-k8s.io/consume-provisioning-request autoscaling.x-k8s.io/provisioning-class-name
		cluster-autoscaler.kubernetes.io/consume-provisioning-request cluster-autoscaler.kubernetes.io/provisioning-class-name podtype podType`,
	"Nodes and templates": `cluster-autoscaler.kubernetes.io/scale-down-disabled delay-deletion.cluster-autoscaler.kubernetes.io/ Suspended
		cluster-autoscaler.k8s.io/upcoming-node k8s.io/cluster-autoscaler/fake-node-reason cluster-autoscaler.kubernetes.io/template-node
		cluster-autoscaler.kubernetes.io/last-updated`,
	"Taints": `ToBeDeletedByClusterAutoscaler DeletionCandidateOfClusterAutoscaler startup-taint.cluster-autoscaler.kubernetes.io/
		ignore-taint.cluster-autoscaler.kubernetes.io/ status-taint.cluster-autoscaler.kubernetes.io/
		node.kubernetes.io/not-ready node.kubernetes.io/unreachable node.kubernetes.io/unschedulable node.kubernetes.io/memory-pressure
		node.kubernetes.io/disk-pressure node.kubernetes.io/pid-pressure node.kubernetes.io/network-unavailable
		node.cloudprovider.kubernetes.io/uninitialized node.cloudprovider.kubernetes.io/shutdown cloud.google.com/impending-node-termination NodeWithImpairedVolumes`,
	"The status ConfigMap": `time autoscalerStatus message clusterWide nodeGroups name health.status nodeCounts registered total ready
		notStarted suspended beingDeleted unready resourceUnready longUnregistered unregistered cloudProviderTarget minSize maxSize scaleUp.status
		backoffInfo errorCode errorMessage scaleDown.status candidates lastProbeTime lastTransitionTime cluster-autoscaler-status`,
	"Events": `ScaledUpGroup FailedToScaleUpGroup ScaleUpTimedOut ScaleUpFailed FailedToRevertScaleUp MaxNodesTotalReached ClusterUnhealthy
		DeleteUnregistered DeleteUnregisteredFailed ScaleDown ScaleDownEmpty GracefulDegradationStarted GracefulDegradationStopped
		TriggeredScaleUp NotTriggerScaleUp ScaleDownFailed ClusterAutoscalerCleanup
		PriorityConfigMapInvalid PriorityConfigMapNotMatchedGroup PriorityConfigMapNoGroupMatched`,
	"ProvisioningRequests and CapacityBuffers": `check-capacity.autoscaling.x-k8s.io best-effort-atomic-scale-up.autoscaling.x-k8s.io
		ValidUntilSeconds noRetry processorInstance Accepted Provisioned Failed BookingExpired CapacityRevoked
		CapacityIsFound CapacityIsNotFound CapacityIsProvisioned FailedToCheckCapacity FailedToCreatePods FailedToBookCapacity
		CapacityReservationTimeExpired CapacityBookingConsumed Expired ReadyForProvisioning Provisioning LimitedByQuotas
		NotReadyForProvisioning BufferIsEmpty FailedToGetPodTemplate FailedToMakeFakePods FakePodsInjected
		TriggeredScaleUp NotTriggerScaleUp Reconciled cluster-autoscaler.kubernetes.io/valid`,
	"Metrics": `cluster_safe_to_autoscale nodes_count node_groups_count unschedulable_pods_count max_nodes_count cluster_cpu_current_cores cpu_limits_cores
		cluster_memory_current_bytes memory_limits_bytes unneeded_nodes_count unremovable_nodes_count scale_down_in_cooldown pending_node_deletions
		node_taints_count overflowing_controllers_count skipped_pods_count inconsistent_instances_migs_count
		capacity_buffer_oldest_reconciliation_timestamp_seconds node_group_min_count node_group_max_count node_group_target_count node_group_healthiness
		node_group_backoff_status last_activity function_duration_seconds function_duration_quantile_seconds max_node_skip_eval_duration_seconds
		node_removal_latency_seconds binpacking_heterogeneity errors_total scaled_up_nodes_total failed_scale_ups_total failed_node_creations_total
		scaled_down_nodes_total scaled_up_gpu_nodes_total failed_gpu_scale_ups_total scaled_down_gpu_nodes_total evicted_pods_total
		old_unregistered_nodes_removed_count skipped_scale_events_count created_node_groups_total deleted_node_groups_total dra_node_template_resources_mismatch`,
	"Providers' keys": `k8s.io/cluster-autoscaler/enabled k8s.io/cluster-autoscaler/node-template/label/ k8s.io/cluster-autoscaler/node-template/taint/
		k8s.io/cluster-autoscaler/node-template/resources/ k8s.io/cluster-autoscaler/node-template/autoscaling-options/
		cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size
		cluster.x-k8s.io/autoscaling-options- capacity.cluster-autoscaler.kubernetes.io/ cluster-autoscaler.kwok.nodegroup/`,
	"The process": `/metrics /health-check /snapshotz /debug/pprof ./cluster-autoscaler leases/cluster-autoscaler cluster-autoscaler-priority-expander`,
}

// skipped are the words in which the Cluster Autoscaler says why a group was not
// looked at.
var skipped = []string{"in backoff after failed scale-up", "max node group size reached", "not ready for scale-up",
	"exceeded quota:", "max total nodes in cluster reached"}

// labels are those of metrics, and their values where they are fixed.
var labels = map[string]string{
	"nodes_count":              "state ready unready notStarted suspended unregistered longUnregistered",
	"node_groups_count":        "node_group_type autoscaled autoprovisioned",
	"unschedulable_pods_count": "type unschedulable scheduler_unprocessed",
	"cpu_limits_cores":         "direction minimum maximum",
	"memory_limits_bytes":      "direction minimum maximum",
	"unremovable_nodes_count":  "reason",
	"node_taints_count":        "type",
	"skipped_pods_count":       "requestor",
	"capacity_buffer_oldest_reconciliation_timestamp_seconds": "new_buffer",
	"node_group_min_count":      "node_group",
	"node_group_backoff_status": "reason",
	"last_activity":             "activity main mainSuccessful autoscaling scaleUp scaleDown",
	"function_duration_seconds": `function main mainSuccessful scaleUp scaleUp:estimate scaleUp:buildPodEquivalenceGroups
		scaleUp:skippedNodeGroupsSimulation scaleDown scaleDown:nodeDeletion scaleDown:softTaintUnneeded findUnneeded updateClusterState
		filterOutSchedulable cloudProviderRefresh autoscaling loopWait poll reconfigure bulkListInstances:listAllInstances
		bulkListInstances:listMigInstances`,
	"function_duration_quantile_seconds": "function",
	"node_removal_latency_seconds":       "deleted delay_reason",
	"binpacking_heterogeneity":           "instance_type cpu_count namespace_count",
	"errors_total": `type cloudProviderError apiCallError internalError transientError configurationError nodeGroupDoesNotExistError
		unexpectedScaleDownStateError`,
	"scaled_up_nodes_total":                "gpu_resource_name gpu_name dra_drivers",
	"failed_scale_ups_total":               "reason gpu_resource_name gpu_name dra_drivers",
	"failed_node_creations_total":          "reason",
	"scaled_down_nodes_total":              "reason underutilized empty unready gpu_resource_name gpu_name dra_drivers",
	"evicted_pods_total":                   "eviction_result succeeded failed",
	"skipped_scale_events_count":           "direction up down reason CpuResourceLimit MemoryResourceLimit",
	"created_node_groups_total":            "group_type",
	"deleted_node_groups_total":            "group_type",
	"dra_node_template_resources_mismatch": "driver mismatch_type",
}

// row is one of the tables of docs/migrate.md.
type row struct {
	keys               []string
	there, here, tests string
}

var (
	coded = regexp.MustCompile("`([^`]+)`")
	// aTest is a package and a test of it, and the files of testdata that count.
	aTest = regexp.MustCompile("`([a-z0-9/]+): (Test[A-Za-z0-9]+)`(?: \\(`([a-z_0-9.]+)`\\))?")
)

// rows are those of a part of the page.
func rows(t *testing.T, page, part string) []row {
	t.Helper()
	_, text, ok := strings.Cut(page, "\n## "+part+"\n")
	if !ok {
		t.Fatalf("docs/migrate.md has no part %q", part)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var out []row
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| key ") {
			continue
		}
		if len(cells) != 4 {
			t.Errorf("%q does not have four cells", line)
			continue
		}
		r := row{there: cells[1], here: cells[2], tests: strings.TrimSuffix(cells[3], " |")}
		for _, m := range coded.FindAllStringSubmatch(cells[0], -1) {
			r.keys = append(r.keys, m[1])
		}
		out = append(out, r)
	}
	return out
}

// TestContractIsTold: each key of the contract has a row; a row that says it is
// there names tests, which exist; and what it says is in the code, or is not.
func TestContractIsTold(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "migrate.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := productWords(t, root)
	tests := map[string]map[string]string{}
	for part, keys := range contract {
		told := rows(t, string(text), part)
		for key := range strings.FieldsSeq(keys) {
			if !slices.ContainsFunc(told, func(r row) bool { return slices.Contains(r.keys, key) }) {
				t.Errorf("%s: %s has no row", part, key)
			}
		}
		for _, r := range told {
			absent := strings.HasPrefix(r.here, "not there")
			for _, key := range r.keys {
				if r.tests == "–" && !absent {
					continue // it says what differs, and that nothing tests it
				}
				if checked[part] && !everyday[key] && said(words, key) == absent {
					t.Errorf("%s: %s: the row says %q, and in the code it is the other way round", part, key, r.here)
				}
			}
			found := aTest.FindAllStringSubmatch(r.tests, -1)
			if r.tests == "–" && absent {
				continue
			}
			if len(found) == 0 && !strings.HasPrefix(r.here, "differs") {
				t.Errorf("%s: %v: %q names no test as `package: TestName`", part, r.keys, r.tests)
			}
			bodies := ""
			for _, m := range found {
				if _, ok := tests[m[1]]; !ok {
					tests[m[1]] = testsOf(t, filepath.Join(root, m[1]))
				}
				body, ok := tests[m[1]][m[2]]
				if !ok {
					t.Errorf("%s: %v: %s has no %s", part, r.keys, m[1], m[2])
				}
				bodies += body
				if m[3] == "" {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, m[1], "testdata", m[3])); err != nil {
					t.Errorf("%s: %v: %v", part, r.keys, err)
				}
			}
			for _, key := range r.keys {
				if (part == "Events" || part == "Metrics") && !strings.Contains(bodies, key) {
					t.Errorf("%s: %s is not in the tests that its row names, %s", part, key, r.tests)
				}
			}
		}
	}
}

// TestSkippedGroupsAreTold: each reason has a row, and the scenario that the row
// names has the word that is said here.
func TestSkippedGroupsAreTold(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "migrate.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := rows(t, string(text), "Why pods wait")
	for _, key := range skipped {
		i := slices.IndexFunc(told, func(r row) bool { return slices.Contains(r.keys, key) })
		if i < 0 {
			t.Errorf("%q has no row", key)
			continue
		}
		reason, scenario := coded.FindStringSubmatch(told[i].here), aTest.FindStringSubmatch(told[i].tests)
		if reason == nil || scenario == nil {
			t.Errorf("%q: the row names no reason or no scenario: %+v", key, told[i])
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, scenario[1], "testdata", scenario[3]))
		if err != nil || !strings.Contains(string(content), reason[1]) {
			t.Errorf("%q: %s is not in the scenario %s: %v", key, reason[1], scenario[3], err)
		}
	}
}

// TestLabelsOfMetricsAreTold: dashboards and alerts select by them.
func TestLabelsOfMetricsAreTold(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "migrate.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := rows(t, string(text), "Metrics")
	for metric, want := range labels {
		i := slices.IndexFunc(told, func(r row) bool { return slices.Contains(r.keys, metric) })
		if i < 0 {
			t.Errorf("%s has no row", metric)
			continue
		}
		for label := range strings.FieldsSeq(want) {
			if !strings.Contains(told[i].there, "`"+label+"`") {
				t.Errorf("%s: the label or value %s is not told", metric, label)
			}
		}
	}
}

// everyday are words that mean other things in the code as well, or that are events
// on other objects.
var everyday = map[string]bool{"Accepted": true, "Provisioned": true, "Provisioning": true, "Failed": true,
	"Expired": true, "TriggeredScaleUp": true, "NotTriggerScaleUp": true}

// checked are the parts whose keys the code spells as the contract does, in a text
// or at its beginning.
var checked = map[string]bool{
	"Pods": true, "Nodes and templates": true, "Taints": true, "Events": true, "Metrics": true,
	"ProvisioningRequests and CapacityBuffers": true,
}

// said tells whether the code has a key, or for a family of keys one of it; taints of
// Kubernetes are a family in the code.
func said(words []string, key string) bool {
	const kubernetes = "node.kubernetes.io/"
	if strings.HasPrefix(key, kubernetes) {
		key = kubernetes
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return w == key || strings.HasSuffix(key, "/") && strings.HasPrefix(w, key)
	})
}

// testsOf are a package's tests: their texts by their names.
func testsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				out[f.Name.Name] = string(text[f.Pos()-parsed.FileStart : f.End()-parsed.FileStart])
			}
		}
	}
	return out
}

// productWords are the texts in the product's code: this package only tells of the
// Cluster Autoscaler, and config has flags and warnings of its own.
func productWords(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	for _, folder := range []string{"internal", "providers"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() &&
				(d.Name() == "migrate" || d.Name() == "config" || d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")) {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil {
						out = append(out, s)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
