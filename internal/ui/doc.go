// Package ui shows what the autoscaler sees and decides: a page for a browser, and the same as JSON
// under /api/v1.
//
// What flows in: a model.Cycle per turn of the loop, the decisions that are kept, and who leads. What
// flows out: answers to HTTP requests that only read. Nothing is computed before a request needs it,
// and the result is kept until the next cycle, however many clients ask.
//
// Bound to the loopback, it answers only requests that name the loopback as their host, so that no
// other site's page can reach it. Bound elsewhere, it asks the API server about every request.
//
// Every text that came from the cluster passes through html/template or encoding/json. The page has
// no inline script or style, and no request of it leaves its origin.
//
// Who may import it: hosts (cmd). It imports model, decisions and explain, and fills the loop's port
// Reporter without importing it.
package ui
