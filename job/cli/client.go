package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/web"
)

// answerWithin is how long a running job may take to answer a plain question.
const answerWithin = 5 * time.Second

// client finds a running job's HTTP address: in its file, by --address, or the default one.
func (p *program) client(c *cli.Context) (*web.Client, string, error) {
	var o web.Options
	name := c.Args().First()
	if p.graph != nil {
		name, o = p.graph.Name(), p.options.HTTP
	} else if isFile(name) {
		l, err := p.load(c)
		if err != nil {
			return nil, "", err
		}
		name, o = l.graph.Name(), l.options.HTTP
	}
	override(c, &o)
	if !o.Enabled() {
		return nil, "", usagef("the job's HTTP address is off: nothing can be asked of it")
	}
	token, err := o.Secret()
	if err != nil {
		return nil, "", &usageError{err}
	}
	return &web.Client{Address: web.Reachable(o.Address), Token: token}, name, nil
}

// ask checks that the job that answers is the one that was meant; other jobs may have the default address.
func (p *program) ask(ctx context.Context, client *web.Client, name string) (web.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	st, err := client.Status(ctx)
	if err != nil {
		return st, err
	}
	if name != "" && st.Job != name {
		return st, fmt.Errorf("the job at http://%s is %s, not %s: give the right --address", client.Address, st.Job, name)
	}
	return st, nil
}

// tokenError says what to do about a job that does not take the token, or wants one.
func tokenError(err error, given bool) error {
	var refused *web.RefusedError
	switch {
	case !errors.As(err, &refused) || refused.Code != http.StatusUnauthorized:
		return err
	case given:
		return errors.New("the token is wrong: this is not the one that the job was started with (--token, --token-file, WEIR_TOKEN)")
	}
	return errors.New("the job wants a token: give --token, --token-file or WEIR_TOKEN")
}
