package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/web"
	"github.com/weirstream/weir/job"
)

// jobFlags change the settings of a job.
func (p *program) jobFlags() []cli.Flag {
	usage := "change a value of the job: `PATH=VALUE`, such as checkpoint.interval=1s; may be repeated"
	if p.graph != nil {
		usage = "change a value of the job's options, not of its steps: `PATH=VALUE`, such as checkpoint.interval=1s; may be repeated"
	}
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "set", Usage: usage},
	}
}

// addressFlags say where a running job's HTTP address is, or is to be.
func addressFlags(usage string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "address", EnvVars: []string{"WEIR_ADDRESS"}, Usage: usage},
		&cli.StringFlag{Name: "token", EnvVars: []string{"WEIR_TOKEN"}, Usage: "the token that savepoints and stop ask for"},
		&cli.StringFlag{Name: "token-file", EnvVars: []string{"WEIR_TOKEN_FILE"}, Usage: "a file that holds the token"},
	}
}

// override puts what the flags and the environment say over a job's own settings.
func override(c *cli.Context, o *web.Options) {
	if s := c.String("address"); s != "" {
		o.Address = s
	}
	if s := c.String("token"); s != "" {
		o.Token, o.TokenFile = kafka.Secret(s), ""
	}
	if s := c.String("token-file"); s != "" {
		o.Token, o.TokenFile = "", s
	}
	o.EnsureDefaults()
}

// nameFlags say where a job is whose file is not at hand. Given with a file they win over it; the environment does not, since
// KAFKA_BROKERS may be meant for other commands.
func nameFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "brokers", Usage: "`HOST:PORT`, several with commas between; needed if JOB is a name, else it wins over the file's [$KAFKA_BROKERS, if JOB is a name]"},
		&cli.StringFlag{Name: "prefix", Usage: "the job's checkpoint.prefix (default: the file's, or weir)"},
	}
}

// overrideName puts what nameFlags say over a job's own settings.
func overrideName(c *cli.Context, o *job.Options) error {
	if c.String("brokers") != "" {
		config, err := cluster(c)
		if err != nil {
			return err
		}
		o.Kafka.Brokers = config.Brokers
	}
	if s := c.String("prefix"); s != "" {
		o.Checkpoint.Prefix = s
	}
	return nil
}

func brokersFlag() cli.Flag {
	return &cli.StringFlag{Name: "brokers", EnvVars: []string{"KAFKA_BROKERS"}, Usage: "`HOST:PORT`, several with commas between"}
}

// cluster is the Kafka that --brokers names.
func cluster(c *cli.Context) (kafka.Config, error) {
	var config kafka.Config
	brokers := c.String("brokers")
	if brokers == "" {
		brokers = os.Getenv("KAFKA_BROKERS") // of nameFlags, which do not read it by themselves
	}
	if brokers == "" {
		return config, usagef("%s: --brokers is missing (or KAFKA_BROKERS)", called(c))
	}
	for _, b := range strings.Split(brokers, ",") {
		if b = strings.TrimSpace(b); b != "" {
			config.Brokers = append(config.Brokers, b)
		}
	}
	config.EnsureDefaults()
	if err := config.Validate(); err != nil {
		return config, &usageError{errors.New("--" + strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return config, nil
}
