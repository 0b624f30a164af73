package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// authorized lets a request through that triggers something. With a token, the request must carry it. Without, the server
// listens on this machine only; what is refused then is a request that a web page made in somebody's browser, which sends
// along where it comes from.
func (s *Server) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.token != "" && !sameToken(bearer(r), s.token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			what := "a token is needed: send the header Authorization: Bearer TOKEN"
			if bearer(r) != "" {
				what = "this token is not the job's: the header Authorization: Bearer TOKEN has another one"
			}
			problem(w, http.StatusUnauthorized, what)
		case s.token == "" && (r.Header.Get("Origin") != "" || !isLoopback(hostOf(r))):
			problem(w, http.StatusForbidden, "only programs on this machine may do this: without a token, no web page may")
		default:
			next(w, r)
		}
	}
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// sameToken takes as long for a wrong token as for the right one, whatever their lengths.
func sameToken(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// hostOf is the name by which the request reached the server. A page that let its own name point at this machine (DNS
// rebinding) gives itself away by it.
func hostOf(r *http.Request) string {
	host := r.Host
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}
