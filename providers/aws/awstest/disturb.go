package awstest

import (
	"net/http"
	"strconv"
	"time"
)

// This file plays a request through the fault that it meets.

// disturb: wait, then the effect if it comes first, then the mishap. A request
// with an effect and without a mishap is answered.
func (c *Cloud) disturb(w http.ResponseWriter, r *http.Request, q *query, f Fault) {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	met := f.Met
	if met == nil {
		met = func() {}
	}
	var o outcome
	if !f.After {
		met()
	}
	if f.After || f.Mishap == "" || f.Mishap == Truncated {
		o = c.carryOut(q)
	}
	if f.After {
		met()
	}
	if refused := f.refusal(q); refused != nil {
		q.refuse(w, refused)
		return
	}
	switch f.Mishap {
	case Hang:
		<-r.Context().Done()
	case Cut:
		cut(w, nil)
	case Truncated:
		body := q.body(o.result)
		head := "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
		cut(w, append([]byte(head), body[:len(body)/2]...))
	case Garbled:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>Sign in to the airport's network</body></html>"))
	case EmptyBody:
		w.WriteHeader(http.StatusOK)
	case EmptyList:
		q.send(w, http.StatusOK, q.body(struct{}{}))
	default:
		q.answer(w, o)
	}
}

// cut sends what there is and closes the connection.
func cut(w http.ResponseWriter, text []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the server then closes it
	}
	_, _ = conn.Write(text) // the client may have gone first
	_ = conn.Close()
}
