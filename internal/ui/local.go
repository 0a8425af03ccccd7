package ui

import "net/http"

// OnlyHere refuses what a browser asks for another site, and what does not name the loopback as its host. Who serves
// the page on this machine puts it in front.
func OnlyHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.Header.Get("Sec-Fetch-Site")
		if from == "cross-site" || from == "same-site" || !loopback(r.Host) {
			http.Error(w, "only this machine's own pages may ask: open the address that plimsoll ui prints",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
