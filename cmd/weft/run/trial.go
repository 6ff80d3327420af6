package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/plugins/local"
)

// TryVerb is the verb of the process that `weft doctor --deep` starts.
const TryVerb = "try"

// TryNone is the exit code where a trial cannot be made here, which says nothing of the node. It is EX_CONFIG of
// sysexits.h; a panic ends a process with 2.
const TryNone = 78

// Tried is the JSON that a trial prints.
type Tried struct {
	Job    string          `json:"job"`
	User   string          `json:"user"`
	Trials []refusal.Trial `json:"trials"` // one for each NIC of the job
}

// tries is a driver that can try a service.
type tries interface {
	Try(context.Context, string, uint32, core.VNI, core.Classes) refusal.Trial
}

// NewTry is a verb for `weft doctor --deep` alone. Its process is a job of a user without rights: it opens the job's
// services as that user's application would. Weft removes them when it ends, as any job's.
func NewTry(o *cli.Options) *cobra.Command {
	r := &runArgs{nodes: 1, label: "local"}
	var path string
	cmd := &cobra.Command{
		Use: TryVerb, Short: "Try a node's services as a user, for weft doctor --deep", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tried, err := r.try(cmd.Context(), o, path)
			if reason := core.ReasonOf(err); reason == core.BadConfig || reason == core.NotSupported {
				return cli.Exit(TryNone, err)
			}
			if err != nil {
				return cli.Exit(cli.ExitRun, err)
			}
			return json.NewEncoder(os.Stdout).Encode(tried)
		},
	}
	cmd.Flags().StringVar(&r.on, "node", "", "node")
	cmd.Flags().StringVar(&r.wish.User, "user", "", "user")
	cmd.Flags().StringVar(&path, "config", cli.DefaultConfig, "configuration of the agent")
	return cmd
}

func (r *runArgs) try(ctx context.Context, o *cli.Options, path string) (t Tried, err error) {
	who, err := owner(ctx, r.wish.User)
	if err != nil {
		return t, err
	}
	nics, err := r.nics(ctx, o, path, who)
	if err != nil {
		return t, err
	}
	var job local.Entry
	if err := o.AskNode(ctx, r.on, "begin", dev.Begin{Wish: r.wish, Hosts: []string{r.on}}, &job); err != nil {
		return t, err
	}
	environs, err := r.prepare(ctx, o, job)
	if err != nil {
		return t, err
	}
	t = Tried{Job: r.label + "/" + job.Job, User: job.User}
	if _, simulated := nics.(sim.User); !simulated {
		if err := fall(who); err != nil {
			return t, err
		}
	}
	t.Trials, err = tryAll(ctx, nics, environs[0])
	return t, err
}

// nics is the driver of the node. A simulated one takes the user's word, since its files are root's alone.
func (r *runArgs) nics(ctx context.Context, o *cli.Options, path string, who identity) (tries, error) {
	caller := kernel.Caller{EUID: uint32(os.Geteuid()), EGID: uint32(os.Getegid())}
	if who.cred != nil {
		caller = kernel.Caller{EUID: who.cred.Uid, EGID: who.cred.Gid}
	}
	if _, _, real := o.Here(); !real { // `weft dev`
		return sim.User{Driver: sim.At(dev.NICs(o.Dir, r.on)), Caller: caller}, nil
	}
	site, err := cli.LoadOwn(path)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(site.Schedulers, func(p config.Plugin) bool { return p.Type == "local" })
	if at < 0 {
		return nil, core.Errorf(core.BadConfig, "%s: it has no scheduler of type local, whose job a trial is", path).
			WithRemedy("add `scheduler \"local\" \"local\" {}`, and let the policy say who may use it")
	}
	r.label = site.Schedulers[at].Name
	for _, p := range site.Drivers {
		var nics tries
		var block core.Configurable
		switch p.Type {
		case "cxi":
			d := cxi.New()
			nics, block = d, d
		case "sim":
			d := sim.New(sim.Options{})
			nics, block = sim.User{Driver: d, Caller: caller}, d
		default:
			continue
		}
		if _, findings := p.Apply(ctx, block); hclfile.Failed(findings) {
			return nil, config.AsError(findings)
		}
		return nics, nil
	}
	return nil, core.Errorf(core.NotSupported, "%s: it has no driver that can try a service", path)
}

// fall makes this thread a user's without any privilege, for good. A process that kept one would prove nothing.
func fall(who identity) error {
	if err := who.become(); err != nil {
		return err
	}
	runtime.LockOSThread() // a flag of the thread
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("user: no new privileges: %w", err)
	}
	var has [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &has[0]); err != nil {
		return fmt.Errorf("user: capabilities: %w", err)
	}
	if os.Geteuid() == 0 || has[0].Permitted|has[1].Permitted != 0 {
		return errors.New("user: the process kept privileges, so its trial would prove nothing")
	}
	return nil
}

// tryAll tries each service that a job's environment names, for its first VNI and in its classes.
func tryAll(ctx context.Context, nics tries, environ []string) (all []refusal.Trial, err error) {
	has := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		has[name] = value
	}
	first, _, _ := strings.Cut(has["SLINGSHOT_VNIS"], ",")
	vni, bad := strconv.ParseUint(first, 10, 16)
	classes, none := strconv.ParseUint(has["SLINGSHOT_TCS"], 0, 8)
	devices, ids := strings.Split(has["SLINGSHOT_DEVICES"], ","), strings.Split(has["SLINGSHOT_SVC_IDS"], ",")
	if bad != nil || none != nil || len(devices) != len(ids) {
		return nil, core.Errorf(core.BadRequest, "trial: the policy gives its job no VNI").
			WithRemedy("`weft policy explain` shows what a job of this user gets")
	}
	for i, device := range devices {
		id, err := strconv.ParseUint(ids[i], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("trial: NIC %s: service %q is none", device, ids[i])
		}
		all = append(all, nics.Try(ctx, device, uint32(id), core.VNI(vni), core.Classes(classes)))
	}
	return all, nil
}
