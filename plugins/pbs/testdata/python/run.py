"""Runs hook files: each line of standard input is {"hook": FILE, "config": FILE, "event": EVENT}. For each it prints a
line of JSON with what the hook did. Each runs in a process of its own, which has every module already."""
import json
import os
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import pbs  # noqa: E402

real = subprocess.run
calls = []


def run(command, **how):
    """PBS's clock is the test's: what hangs is over at once, and a slow machine is not taken for one that hangs."""
    calls.append({"command": command, "limit": how.get("timeout"), "env": sorted(how.get("env") or os.environ)})
    if pbs.given.get("hangs"):
        raise subprocess.TimeoutExpired(command, how["timeout"])
    how["timeout"] = 120
    time.sleep = nap  # subprocess waits so
    done = real(command, **how)
    time.sleep = sleep
    if pbs.given["event"] in pbs.IN_SERVER:
        done.returncode = 0  # pbs_server waits for all its children, and has it
    return done


def sleep(*_):
    raise AssertionError("the hook sleeps")


nap = time.sleep
subprocess.run, time.sleep = run, sleep


def event(asked):
    pbs.given, pbs.hook_config_filename = asked["event"], asked["config"]
    failed = ""
    try:
        with open(asked["hook"]) as f:
            exec(compile(f.read(), asked["hook"], "exec"), {"__name__": "__main__"})
        failed = "it neither accepted nor rejected"
    except SystemExit:
        pass
    except BaseException:
        failed = traceback.format_exc()
    out = dict(pbs.done, failed=failed, calls=calls)
    if pbs.given["event"] == "execjob_launch":
        out["env"] = pbs.event().env.arrives()
    return out


for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        print(json.dumps(event(json.loads(line))), flush=True)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        print(json.dumps({"failed": "its process ended with %d" % status}), flush=True)
