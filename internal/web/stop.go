package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/weirstream/weir/internal/runtime"
)

// StopAnswer is the answer of GET /api/v1/stop. POST answers with the status alone.
type StopAnswer struct {
	// Stop is the latest request to stop, null if there was none.
	Stop *runtime.StopStatus `json:"stop"`
}

// longestWait bounds how long GET /api/v1/stop waits for an outcome.
const longestWait = 30 * time.Second

// stop begins to stop the job. The body may be left out: then it is a stop without anything else.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	var req runtime.StopRequest
	if err := decode(r, &req); err != nil && !errors.Is(err, io.EOF) {
		problem(w, http.StatusBadRequest, `the body is not {"savepoint": "...", "drain": false, "id": "..."}: `+err.Error())
		return
	}
	st, err := s.job.RequestStop(req)
	if err != nil {
		problem(w, http.StatusConflict, err.Error())
		return
	}
	answer(w, http.StatusAccepted, st)
}

// stopStatus tells what became of the latest request to stop. With ?wait=DURATION it waits for the outcome first.
func (s *Server) stopStatus(w http.ResponseWriter, r *http.Request) {
	wait := time.Duration(0)
	if text := r.URL.Query().Get("wait"); text != "" {
		var err error
		if wait, err = time.ParseDuration(text); err != nil {
			problem(w, http.StatusBadRequest, "wait is not a duration, such as 10s: "+text)
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), min(wait, longestWait))
	defer cancel()
	answer(w, http.StatusOK, StopAnswer{s.job.WaitStop(ctx)})
}
