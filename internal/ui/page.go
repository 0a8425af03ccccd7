package ui

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

//go:embed templates
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"percent": percent, "money": money, "number": number, "clock": clock, "ago": ago, "at": at, "box": box,
	"plural": plural, "list": list, "tab": tabOf, "memory": memory, "cores": cores, "verdict": verdictIn, "until": until,
	"millis": millis, "share": ratio, "alike": alike, "perBar": func() int { return perBar },
}).ParseFS(templateFiles, "templates/*.html"))

// Page is what a template gets.
type Page struct {
	scene
	// Title is the view's, Tab the one that is marked.
	Title, Tab string
	View       *View
	Rows       []Row
	Hour       *Chart
	Decisions  []decisions.Decision
	Decision   *decisions.Decision
	Class      *Class
	Node       *Node
	Group      *Group
	Kept       []Kept
	// Pods are those of the class or the node, by which each is explained; MorePods is how many are left out.
	Pods     []string
	MorePods int
	// Threshold is the load below which a node may be removed.
	Threshold float64
	// Said is what explain says, as text.
	Said string
	// Missing says what there is not, Unsaid why there is no Said.
	Missing, Unsaid string
	status          int
}

// Leads, Leader and Looked are the scene's, for templates.
func (p *Page) Leads() bool       { return p.leads }
func (p *Page) Leader() string    { return p.leader }
func (p *Page) Looked() time.Time { return p.looked }

// Docs is where the meaning of reasons stands.
func (p *Page) Docs() string { return model.ReasonsPage }

func (s *Server) pages(mux *http.ServeMux) {
	static, err := fs.Sub(staticFiles, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	files := http.FileServerFS(static)
	for _, name := range []string{"page.css", "page.js", "icon.svg"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			files.ServeHTTP(w, r)
		})
	}
	for path, fill := range map[string]func(*Page, *http.Request){
		"/{$}":                          s.nowPage,
		"/pending":                      s.pendingPage,
		"/nodes":                        s.nodesPage,
		"/decisions":                    s.decisionsPage,
		"/groups":                       s.groupsPage,
		"/cost":                         s.costPage,
		"/class/{digest}":               s.classPage,
		"/pod/{name...}":                s.podPage,
		"/node/{name...}":               s.nodePage,
		"/group/{name...}":              s.groupPage,
		"/decision/{id}":                s.decisionPage,
		"/" /* anything that is not */ : s.nothing,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			c := s.scene()
			if !c.leads || c.moment == nil {
				write(w, http.StatusOK, s.render(&Page{scene: c, Title: "Waiting"}))
				return
			}
			address := r.URL.Path + "?" + r.URL.Query().Get("reason") // all that a page depends on
			status, text := s.shelf.take(glance{c.number, c.looked}, address, func() (int, []byte) {
				p := &Page{scene: c, View: c.View(), Threshold: c.moment.cycle.Policy.ScaleDown.Threshold, status: http.StatusOK}
				fill(p, r)
				return p.status, s.render(p)
			})
			write(w, status, text)
		})
	}
}

// render makes a page; it is nil where that fails, which is a fault of the program.
func (s *Server) render(p *Page) []byte {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "page.html", p); err != nil {
		s.log.Error("a page could not be made: please report it", "page", p.Title, "err", err)
		return nil
	}
	return b.Bytes()
}

// patience is how long a page may take to be read.
const patience = time.Minute

// hurry bounds the time that a reader has: one that does not read must not keep the connection for ever. Not all
// writers have deadlines.
func hurry(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
}

func write(w http.ResponseWriter, status int, text []byte) {
	if text == nil {
		http.Error(w, "the page could not be made; the log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	hurry(w)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(askAgain.Seconds())))
	}
	w.WriteHeader(status)
	// The reader has gone if this fails.
	_, _ = w.Write(text)
}

// shownClasses is how many classes the first view shows, shownDecisions how many decisions.
const (
	shownClasses   = 8
	shownDecisions = 6
)

func (s *Server) nowPage(p *Page, _ *http.Request) {
	p.Title, p.Tab = "Now", "now"
	p.Rows = rowsOf(p.View)
	p.Decisions = s.book.List(shownDecisions)
	p.Hour = chartOf(p.history.last(time.Hour), s.book.List(decisions.DefaultCount))
}

// Barred reports whether the nodes are too many for a box each.
func (p *Page) Barred() bool { return barred(p.View) }

// First are the classes that the first view shows.
func (p *Page) First() []Class { return p.View.Pods[:min(shownClasses, len(p.View.Pods))] }

// MoreClasses is how many it does not.
func (p *Page) MoreClasses() int { return max(0, len(p.View.Pods)-shownClasses) }

func (s *Server) pendingPage(p *Page, _ *http.Request) { p.Title, p.Tab = "Pods that wait", "pending" }

// Kept are the nodes that stay for one reason.
type Kept struct {
	Reason string
	Count  int
	Nodes  []Node
}

// shownKept is how many nodes of a reason are shown, unless one reason is asked for.
const shownKept, shownOfOne = 20, 1000

func (s *Server) nodesPage(p *Page, r *http.Request) {
	p.Title, p.Tab = "Why nodes stay", "nodes"
	only := r.URL.Query().Get("reason")
	most := shownKept
	if only != "" {
		most = shownOfOne
	}
	at := map[string]int{}
	for i := range p.View.Nodes {
		n := &p.View.Nodes[i]
		reason := string(n.State)
		if n.Verdict != nil {
			reason = string(n.Verdict.Reason)
		}
		if only != "" && only != reason {
			continue
		}
		k, ok := at[reason]
		if !ok {
			k = len(p.Kept)
			at[reason] = k
			p.Kept = append(p.Kept, Kept{Reason: reason})
		}
		p.Kept[k].Count++
		if p.Kept[k].Count <= most {
			p.Kept[k].Nodes = append(p.Kept[k].Nodes, *n)
		}
	}
	slices.SortFunc(p.Kept, func(a, b Kept) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Reason, b.Reason)
	})
}

func (s *Server) decisionsPage(p *Page, _ *http.Request) {
	p.Title, p.Tab = "Decisions", "decisions"
	p.Decisions = s.book.List(decisions.DefaultCount)
	p.Hour = chartOf(p.history.last(6*time.Hour), p.Decisions)
}

func (s *Server) groupsPage(p *Page, _ *http.Request) {
	p.Title, p.Tab = "Groups", "groups"
	p.Hour = chartOf(p.history.last(6*time.Hour), nil)
}

func (s *Server) costPage(p *Page, _ *http.Request) { p.Title, p.Tab = "Cost", "cost" }

func (s *Server) classPage(p *Page, r *http.Request) {
	p.Tab = "pending"
	i := slices.IndexFunc(p.View.Pods, func(c Class) bool { return c.Digest == r.PathValue("digest") })
	if i < 0 {
		p.miss("No pods of this class wait any more.")
		return
	}
	p.Class, p.Title = &p.View.Pods[i], p.View.Pods[i].Name
	snap := p.moment.cycle.Snapshot
	for _, q := range snap.Pending {
		if snap.Classes[q.Class].Digest() == p.Class.Digest {
			for _, pod := range q.Pods {
				p.link(snap, pod)
			}
		}
	}
	s.say(p, r, question{"pod", p.Class.Pod()})
}

// shownPods is how many pods a page leads to.
const shownPods = 50

// link leads to a pod's page.
func (p *Page) link(s *model.Snapshot, pod *model.Pod) {
	if len(p.Pods) == shownPods {
		p.MorePods++
		return
	}
	p.Pods = append(p.Pods, s.Contents.Specs[pod.Spec].Pod.Namespace+"/"+pod.Name)
}

func (s *Server) podPage(p *Page, r *http.Request) {
	p.Tab, p.Title = "pending", r.PathValue("name")
	s.say(p, r, question{"pod", p.Title})
}

// say puts what explain says onto the page. What is not there is a page that is missing; where explain fails, or is
// asked too much, the page has all the rest.
func (s *Server) say(p *Page, r *http.Request, q question) {
	var err error
	if p.Said, err = s.said(r.Context(), p.scene, q); err == nil {
		return
	}
	refusal := s.refusalOf(r.Context(), err)
	if p.status = refusal.Status; refusal.Status == http.StatusNotFound {
		p.miss(refusal.Why)
		return
	}
	p.Unsaid = refusal.failure().Text()
}

func (s *Server) nodePage(p *Page, r *http.Request) {
	p.Tab, p.Title = "nodes", r.PathValue("name")
	i := slices.IndexFunc(p.View.Nodes, func(n Node) bool { return n.Name == p.Title })
	if i < 0 {
		p.miss("There is no such node any more.")
		return
	}
	p.Node = &p.View.Nodes[i]
	snap := p.moment.cycle.Snapshot
	bound := snap.Nodes[slices.IndexFunc(snap.Nodes, func(n *model.Node) bool { return n.Name == p.Title })].Bound
	for j := range bound {
		p.link(snap, &bound[j])
	}
	if p.Node.State == Coming && p.Node.Since.IsZero() {
		return // there is no Node object to explain
	}
	s.say(p, r, question{"node", p.Title})
}

func (s *Server) groupPage(p *Page, r *http.Request) {
	p.Tab, p.Title = "groups", r.PathValue("name")
	i := slices.IndexFunc(p.View.Groups, func(g Group) bool { return string(g.ID) == p.Title })
	if i < 0 {
		p.miss("There is no such node group.")
		return
	}
	p.Group = &p.View.Groups[i]
	p.Rows = rowsOf(&View{Nodes: p.View.of(p.Group.ID), Groups: []Group{*p.Group}})
	p.Hour = chartOf(p.history.only(p.Group.ID).last(6*time.Hour), nil)
	s.say(p, r, question{"group", p.Title})
}

// of are the nodes of a group.
func (v *View) of(id provider.GroupID) []Node {
	from, _ := slices.BinarySearchFunc(v.Nodes, id, func(n Node, id provider.GroupID) int {
		return strings.Compare(string(n.Group), string(id))
	})
	to := from
	for to < len(v.Nodes) && v.Nodes[to].Group == id {
		to++
	}
	return v.Nodes[from:to]
}

func (s *Server) decisionPage(p *Page, r *http.Request) {
	p.Tab = "decisions"
	d, ok := s.book.Find(r.PathValue("id"))
	if !ok {
		p.miss("This decision is not kept any more. --decision-log keeps more of them, in a file.")
		return
	}
	p.Decision, p.Title = &d, "Decision of "+d.Time.UTC().Format(dated(d.Time, "15:04:05 UTC"))
}

func (s *Server) nothing(p *Page, _ *http.Request) { p.miss("There is no such page.") }

func (p *Page) miss(why string) { p.Title, p.Missing, p.status = "Not found", why, http.StatusNotFound }

// Predicted reports whether a node has what was expected of it.
func (p *Page) Predicted(m decisions.Made) bool {
	a, b := m.Predicted, m.Actual
	return a.MilliCPU == b.MilliCPU && a.Memory == b.Memory && a.Pods == b.Pods && len(m.Differs) == 0
}

// tab is one of the views' names.
type tab struct {
	Path, Name string
	Here       bool
}

func tabOf(p *Page, path, key, name string) tab { return tab{path, name, p.Tab == key} }

// verdictIn is a verdict of a decision.
func verdictIn(d *decisions.Decision, i int) decisions.Verdict { return d.Verdicts[i] }

func percent(share float64) string { return strconv.Itoa(int(math.Round(share*100))) + " %" }

// alike puts groups with the same verdict of a decision together, in their order.
func alike(groups []decisions.GroupVerdict) (out []sameVerdict) {
	for _, g := range groups {
		i := slices.IndexFunc(out, func(s sameVerdict) bool { return s.Verdict == g.Verdict })
		if i < 0 {
			i = len(out)
			out = append(out, sameVerdict{Verdict: g.Verdict})
		}
		if g.Group != "" {
			out[i].Groups = append(out[i].Groups, g.Group)
		}
	}
	return out
}

type sameVerdict struct {
	Groups  []provider.GroupID
	Verdict int
}

// money groups thousands by a thin space.
func money(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	if v < 1000 {
		return text
	}
	whole, err := strconv.Atoi(text[:len(text)-3])
	if err != nil {
		return text // more than anything costs
	}
	return number(whole) + text[len(text)-3:]
}

// millis is a time in milliseconds, with a fraction only where there is nothing else.
func millis(v float64) string {
	if v < 1 {
		return strconv.FormatFloat(v, 'f', 1, 64) + " ms"
	}
	return number(int(math.Round(v))) + " ms"
}

// number groups thousands by a thin space.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

func plural(n int, one, many string) string {
	if n == 1 {
		return number(n) + " " + one
	}
	return number(n) + " " + many
}

// timeTag is a time that the browser shows in its own zone: as it is, or as how long ago it was.
func timeTag(t time.Time, class, layout string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time class="%s" datetime="%s">%s</time>`, class, t.Format(time.RFC3339),
		t.Format(layout)))
}

func clock(t time.Time) template.HTML { return timeTag(t, "clock", dated(t, "15:04:05 UTC")) }
func ago(t time.Time) template.HTML   { return timeTag(t, "ago", "since "+dated(t, "15:04:05 UTC")) }
func until(t time.Time) template.HTML { return clock(t) }

// at is a moment that the script shows as how long ago it was.
func at(t time.Time) template.HTML { return timeTag(t, "ago", "at "+dated(t, "15:04:05 UTC")) }

// dated puts the date before a layout for times that are not of these hours.
func dated(t time.Time, layout string) string {
	if d := time.Since(t); d > halfDay || d < -halfDay {
		return "2006-01-02 " + layout
	}
	return layout
}

const halfDay = 12 * time.Hour

// list writes some names, and how many more there are.
func list(names []provider.GroupID) string {
	const most = 4
	var out []string
	for _, n := range names[:min(most, len(names))] {
		out = append(out, string(n))
	}
	text := strings.Join(out, ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

func memory(bytes int64) string {
	return strconv.FormatFloat(math.Round(float64(bytes)/(1<<30)*10)/10, 'f', -1, 64) + " GiB"
}

func cores(milli int64) string { return strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64) }
