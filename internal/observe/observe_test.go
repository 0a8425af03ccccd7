package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// sky is a cloud whose inventory a test writes; it counts the reads.
type sky struct {
	mu    sync.Mutex
	reads []time.Time
	read  func(context.Context) (provider.Inventory, error)
}

func (s *sky) Inventory(ctx context.Context) (provider.Inventory, error) {
	s.mu.Lock()
	s.reads = append(s.reads, time.Now())
	read := s.read
	s.mu.Unlock()
	return read(ctx)
}

func (s *sky) set(read func(context.Context) (provider.Inventory, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = read
}

func (s *sky) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reads)
}

func (*sky) Grow(context.Context, provider.GrowRequest) (provider.GrowResult, error) {
	panic("observe must not write")
}
func (*sky) Remove(context.Context, provider.RemoveRequest) (provider.RemoveResult, error) {
	panic("observe must not write")
}
func (*sky) Cancel(context.Context, provider.CancelRequest) (provider.CancelResult, error) {
	panic("observe must not write")
}

func says(groups ...provider.Group) func(context.Context) (provider.Inventory, error) {
	return func(context.Context) (provider.Inventory, error) {
		return provider.Inventory{Groups: groups, AsOf: time.Now()}, nil
	}
}

var settings = Settings{
	Namespace: "kube-system", Seed: 7, ScanInterval: 10 * time.Second, InventoryDeadline: 30 * time.Second,
}

// world runs an observer in a bubble of virtual time until the test ends.
func world(
	t *testing.T, cloud *sky, objects []runtime.Object, test func(t *testing.T, client *fake.Clientset, o *Observer),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects...)
		test(t, client, start(t, client, cloud))
	})
}

func start(t *testing.T, client *fake.Clientset, cloud *sky) *Observer {
	return startWith(t, client, cloud, settings)
}

func startWith(t *testing.T, client *fake.Clientset, cloud *sky, with Settings) *Observer {
	o := New(client, cloud, with, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		o.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return o
}

func mustSync(t *testing.T, o *Observer) model.Observation {
	t.Helper()
	if err := o.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return mustObserve(t, o)
}

func mustObserve(t *testing.T, o *Observer) model.Observation {
	t.Helper()
	seen, err := o.Observe(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func signalled(o *Observer) bool {
	select {
	case <-o.Changed():
		return true
	default:
		return false
	}
}

func TestObservation(t *testing.T) {
	template := group("g", 1, "n")
	template.Template = &provider.Template{Node: testNode(""), Pods: []*corev1.Pod{testPod("kube-system", "static", "")}}
	cloud := &sky{read: says(template, group("h", 0))}
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	objects := []runtime.Object{
		testNode("n"), testPod("ns", "b", "n"), testPod("ns", "w", "", refused),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"team": "x"}}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent", UID: "u"},
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: testPod("", "", "").Spec}}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "s"}, VolumeBindingMode: &waits},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: priorityConfigMap}, Data: map[string]string{priorityKey: "10: [a]"}},
	}
	world(t, cloud, objects, func(t *testing.T, client *fake.Clientset, o *Observer) {
		seen := mustSync(t, o)
		if len(seen.Nodes) != 1 || len(seen.Nodes[0].Pods) != 1 || len(seen.Unbound) != 1 ||
			seen.Unbound[0].Flags != model.Refused {
			t.Errorf("nodes %+v, unbound %+v", seen.Nodes, seen.Unbound)
		}
		if seen.Namespaces["ns"]["team"] != "x" || len(seen.Volumes.Claims) != 1 || len(seen.Volumes.Classes) != 1 {
			t.Errorf("namespaces %v, volumes %+v", seen.Namespaces, seen.Volumes)
		}
		if len(seen.DaemonSets) != 1 || seen.DaemonSets[0].Name != "agent" {
			t.Fatalf("daemon sets %+v", seen.DaemonSets)
		}
		tolerations := seen.Contents.Specs[seen.DaemonSets[0].Content.Spec].Pod.Spec.Tolerations
		if !slices.ContainsFunc(tolerations, func(x corev1.Toleration) bool { return x.Key == corev1.TaintNodeNotReady }) {
			t.Errorf("tolerations %v", tolerations)
		}
		if n, ok := seen.Priorities.Of("a"); n != 10 || !ok || seen.Seed != 7 || seen.Now != time.Now() ||
			seen.Generation == 0 {
			t.Errorf("priorities %v, seed %d, generation %d", seen.Priorities, seen.Seed, seen.Generation)
		}
		if len(seen.Inventory.Groups) != 2 || len(seen.Templates) != 2 || !seen.Templates[0].Known ||
			seen.Templates[1].Known {
			t.Fatalf("inventory %+v, templates %+v", seen.Inventory, seen.Templates)
		}
		if seen.Templates[0].Shape != seen.Nodes[0].Shape || len(seen.Templates[0].Pods) != 1 {
			t.Errorf("template %+v, node's shape %d", seen.Templates[0], seen.Nodes[0].Shape)
		}
		if !signalled(o) {
			t.Error("no signal")
		}
		// Nothing happens: the same again.
		if again := mustObserve(t, o); again.Generation != seen.Generation {
			t.Errorf("generation %d, then %d", seen.Generation, again.Generation)
		}
		// A pod comes.
		if _, err := client.CoreV1().Pods("ns").
			Create(t.Context(), testPod("ns", "x", ""), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		<-o.Changed()
		if again := mustObserve(t, o); again.Generation == seen.Generation || len(again.Unbound) != 2 ||
			len(seen.Unbound) != 1 {
			t.Errorf("generation %d, then %d; %d pods wait", seen.Generation, again.Generation, len(again.Unbound))
		} else if again.Priorities != seen.Priorities {
			t.Error("the priorities were parsed again without a change of theirs")
		}
		// The priorities change.
		if err := client.CoreV1().ConfigMaps("kube-system").
			Delete(t.Context(), priorityConfigMap, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if again := mustObserve(t, o); again.Priorities != nil {
			t.Errorf("priorities %v", again.Priorities)
		}
	})
}

func TestObserveBeforeSyncIsAnError(t *testing.T) {
	o := New(fake.NewClientset(), &sky{read: says()}, settings, slog.New(slog.DiscardHandler))
	if _, err := o.Observe(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "pods") {
		t.Errorf("error %v", err)
	}
}

// A right that is missing is named with its verb, and soon.
func TestMissingRights(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				denied := apierrors.NewForbidden(schema.GroupResource{Resource: "daemonsets"}, "", errors.New("not allowed"))
				client.PrependReactor("list", "daemonsets", func(clienttesting.Action) (bool, runtime.Object, error) {
					return verb == "list", nil, denied
				})
				client.PrependWatchReactor("daemonsets", func(clienttesting.Action) (bool, watch.Interface, error) {
					return verb == "watch", nil, denied
				})
				o := start(t, client, &sky{read: says()})
				// A fake client cannot stream lists, so that the list comes before
				// the watch that fails.
				synctest.Wait()
				began := time.Now()
				err := o.WaitForSync(t.Context())
				if err == nil || !strings.Contains(err.Error(), "cannot "+verb+" daemonsets") || !apierrors.IsForbidden(err) {
					t.Fatalf("error %v", err)
				}
				if took := time.Since(began); took > 2*deniedFor {
					t.Errorf("told after %s", took)
				}
			})
		})
	}
}

// A list that failed once is no problem any more when a stream has told everything: no
// list is asked for then.
func TestAListThatFailedBeforeAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := time.Now().Add(400 * time.Millisecond)
		down := apierrors.NewInternalError(errors.New("down"))
		s := newSource("namespaces", api[*corev1.NamespaceList]{
			list: func(context.Context, metav1.ListOptions) (*corev1.NamespaceList, error) {
				if time.Now().Before(broken) {
					return nil, down
				}
				return &corev1.NamespaceList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, nil
			},
			watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if time.Now().Before(broken) {
					return nil, down
				}
				w := watch.NewFakeWithChanSize(10, false)
				if o.SendInitialEvents != nil && *o.SendInitialEvents {
					w.Action(watch.Bookmark, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
						ResourceVersion: "5", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
					}})
				}
				return w, nil
			},
		}, &corev1.Namespace{}, newObjects[*corev1.Namespace](&sync.Mutex{}, func() {}).store(),
			slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); s.run(ctx) }()
		time.Sleep(time.Minute)
		if _, err := s.problem(time.Now()); err != nil || !s.ready() {
			t.Errorf("after a minute: %v", err)
		}
		stop()
		<-ended
	})
}

// withoutPods runs an observer that knows the cluster and believes it for five minutes, and
// ends the watch of pods: no new one begins while away is set, and lists fail where list
// is an error.
func withoutPods(t *testing.T, watching, list error, test func(o *Observer, away *atomic.Bool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var away atomic.Bool
		var watches []*watch.FakeWatcher
		client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
			if away.Load() {
				return true, nil, watching
			}
			w := watch.NewFake()
			watches = append(watches, w)
			return true, w, nil
		})
		client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away.Load() && list != nil, nil, list
		})
		with := settings
		with.MaxAge = 5 * time.Minute
		o := startWith(t, client, &sky{read: says()}, with)
		mustSync(t, o)
		away.Store(true)
		watches[len(watches)-1].Stop()
		test(o, &away)
	})
}

// A cluster that could not be read for longer than the operator allows is not decided
// upon; a shorter trouble is lived through.
func TestAnOldPictureOfTheCluster(t *testing.T) {
	gone := apierrors.NewServiceUnavailable("away")
	withoutPods(t, gone, gone, func(o *Observer, away *atomic.Bool) {
		for _, c := range []struct {
			after time.Duration
			old   bool
		}{{4 * time.Minute, false}, {2 * time.Minute, true}, {time.Hour, true}} {
			time.Sleep(c.after)
			_, err := o.Observe(t.Context(), time.Now())
			if (err != nil) != c.old || c.old && !strings.Contains(err.Error(), "pods") {
				t.Errorf("%s later: %v", c.after, err)
			}
		}
		away.Store(false)
		time.Sleep(10 * time.Second)
		if _, err := o.Observe(t.Context(), time.Now()); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	})
}

// A kind that is listed again and again, since it cannot be watched, is as old as the last
// list.
func TestListsWithoutAWatch(t *testing.T) {
	withoutPods(t, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no watch")), nil,
		func(o *Observer, _ *atomic.Bool) {
			time.Sleep(time.Hour)
			if _, err := o.Observe(t.Context(), time.Now()); err != nil {
				t.Error(err)
			}
		})
}

// The permissions that manifests of the Cluster Autoscaler lack are optional; that to the
// priorities only where no setting needs them.
func TestRightsThatCanBeGoneWithout(t *testing.T) {
	for _, c := range []struct {
		resource   string
		priorities bool
		starts     bool
	}{
		{"volumeattachments", true, true},
		{"configmaps", false, true},
		{"configmaps", true, false},
		{"csinodes", false, false},
	} {
		t.Run(fmt.Sprintf("%s,priorities=%v", c.resource, c.priorities), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				denied := apierrors.NewForbidden(schema.GroupResource{Resource: c.resource}, "", errors.New("not allowed"))
				client.PrependReactor("list", c.resource, func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, denied
				})
				var log strings.Builder
				with := settings
				with.Priorities = c.priorities
				o := New(client, &sky{read: says()}, with, slog.New(slog.NewTextHandler(&log, nil)))
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); o.Run(ctx) }()
				err := o.WaitForSync(ctx)
				_, look := o.Observe(ctx, time.Now())
				stop()
				<-done
				if starts := err == nil && look == nil; starts != c.starts {
					t.Errorf("%v, %v", err, look)
				}
				if c.starts && !strings.Contains(log.String(), "Plimsoll works without it") {
					t.Errorf("its log says nothing of it:\n%s", log.String())
				}
			})
		})
	}
}

// A right that is granted late is no error.
func TestRightsThatComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		from := time.Now().Add(2 * time.Second)
		client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return time.Now().Before(from), nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "",
				errors.New("not yet"))
		})
		if err := start(t, client, &sky{read: says()}).WaitForSync(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The cloud is read each interval, at once when poked, and at most once a
// second however often that happens.
func TestWhenTheCloudIsRead(t *testing.T) {
	cloud := &sky{read: says(group("g", 1))}
	world(t, cloud, nil, func(t *testing.T, _ *fake.Clientset, o *Observer) {
		synctest.Wait()
		time.Sleep(35 * time.Second)
		synctest.Wait()
		if n := cloud.count(); n != 4 {
			t.Errorf("%d reads in 35 s, want 4", n)
		}
		before := cloud.count()
		o.Refresh()
		synctest.Wait()
		if n := cloud.count() - before; n != 1 {
			t.Errorf("%d reads at a poke, want 1", n)
		}
		before = cloud.count()
		for range 100 {
			o.Refresh()
			time.Sleep(50 * time.Millisecond)
		}
		synctest.Wait()
		if n := cloud.count() - before; n < 4 || n > 6 {
			t.Errorf("%d reads in 5 s of pokes, want about 5", n)
		}
	})
}

// A poke during a read causes another, since that one began too early.
func TestPokeDuringARead(t *testing.T) {
	cloud := &sky{read: func(context.Context) (provider.Inventory, error) {
		time.Sleep(3 * time.Second)
		return provider.Inventory{Groups: []provider.Group{group("g", 1)}, AsOf: time.Now()}, nil
	}}
	world(t, cloud, nil, func(t *testing.T, _ *fake.Clientset, o *Observer) {
		time.Sleep(time.Second)
		o.Refresh()
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if n := cloud.count(); n != 2 {
			t.Errorf("%d reads, want 2", n)
		}
	})
}

// A cloud that fails, hangs, panics or lies leaves the last good picture.
func TestBadReads(t *testing.T) {
	for name, bad := range map[string]func(context.Context) (provider.Inventory, error){
		"failed": func(context.Context) (provider.Inventory, error) { return provider.Inventory{}, errors.New("down") },
		"hanging": func(ctx context.Context) (provider.Inventory, error) {
			<-ctx.Done()
			return provider.Inventory{}, ctx.Err()
		},
		"panicked": func(context.Context) (provider.Inventory, error) { panic("nil map") },
		"empty":    says(),
	} {
		t.Run(name, func(t *testing.T) {
			cloud := &sky{read: says(group("g", 4))}
			world(t, cloud, nil, func(t *testing.T, _ *fake.Clientset, o *Observer) {
				good := mustSync(t, o)
				signalled(o)
				cloud.set(bad)
				time.Sleep(time.Minute)
				synctest.Wait()
				seen := mustObserve(t, o)
				if seen.InventoryErr == "" || len(seen.Inventory.Groups) != 1 || seen.Inventory.AsOf != good.Inventory.AsOf {
					t.Errorf("error %q, inventory %+v", seen.InventoryErr, seen.Inventory)
				}
				if !signalled(o) {
					t.Error("no signal that it failed")
				}
				cloud.set(says(group("g", 5)))
				time.Sleep(time.Minute)
				synctest.Wait()
				if seen := mustObserve(t, o); seen.InventoryErr != "" || seen.Inventory.Groups[0].Target != 5 || !signalled(o) {
					t.Errorf("error %q, inventory %+v", seen.InventoryErr, seen.Inventory)
				}
			})
		})
	}
}

// A quiet cloud is read, and neither wakes the loop nor is a reason to decide, but
// for who asked for the read.
func TestQuietCloudIsQuiet(t *testing.T) {
	cloud := &sky{read: says(group("g", 1, "n"))}
	world(t, cloud, []runtime.Object{testNode("n")}, func(t *testing.T, client *fake.Clientset, o *Observer) {
		before := mustSync(t, o)
		signalled(o)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if signalled(o) {
			t.Error("a signal for nothing")
		}
		quiet := mustObserve(t, o)
		if !quiet.Inventory.AsOf.After(before.Inventory.AsOf) || quiet.Generation != before.Generation {
			t.Errorf("the picture is as of %s, before %s; generation %d, before %d",
				quiet.Inventory.AsOf, before.Inventory.AsOf, quiet.Generation, before.Generation)
		}
		o.Refresh()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !signalled(o) || mustObserve(t, o).Generation == quiet.Generation {
			t.Error("the read that was asked for has ended, and no signal came")
		}
		// The instance vanishes, the node is Ready: it is believed.
		cloud.set(says(group("g", 1)))
		o.Refresh()
		synctest.Wait()
		if in := mustObserve(t, o).Inventory.Groups[0].Instances; len(in) != 1 {
			t.Errorf("instances %+v", in)
		}
		if err := client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if in := mustObserve(t, o).Inventory.Groups[0].Instances; len(in) != 0 {
			t.Errorf("instances without the node %+v", in)
		}
	})
}

func group(id string, target int, instances ...string) provider.Group {
	g := provider.Group{ID: provider.GroupID(id), Max: 10, Target: target}
	for _, i := range instances {
		g.Instances = append(g.Instances, provider.Instance{
			ID: provider.InstanceID(i), ProviderID: "cloud://" + i, NodeName: i, State: provider.Running,
		})
	}
	return g
}

// TestPauses: what plimsoll pause has written counts as soon as it is there, and everything is paused while it cannot
// be understood.
func TestPauses(t *testing.T) {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: PauseConfigMap},
		Data: map[string]string{PauseKey: `[{"group": "a", "reason": "audit"}]`}}
	world(t, &sky{read: says()}, []runtime.Object{m}, func(t *testing.T, client *fake.Clientset, o *Observer) {
		if seen := mustSync(t, o); len(seen.Pauses) != 1 || seen.Pauses[0].Reason != "audit" {
			t.Fatalf("%+v", seen.Pauses)
		}
		signalled(o)
		for text, want := range map[string]string{"[": policy.All, "": ""} {
			m.Data[PauseKey] = text
			if _, err := client.CoreV1().ConfigMaps("kube-system").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-o.Changed()
			got := ""
			for _, p := range mustObserve(t, o).Pauses {
				got += p.Group
			}
			if got != want {
				t.Errorf("%q: %q is paused, want %q", text, got, want)
			}
		}
	})
}
