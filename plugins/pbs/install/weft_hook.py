# Weft's hook of OpenPBS and PBS Pro: it carries an event to weft-hook and does what the answer says. It decides nothing, keeps nothing and waits for nobody
# but weft-hook: MOM does nothing else while a job begins, and pbs_server nothing else in its own events. Python 3.6 and newer; it needs no package.
#
# What PBS does with each event is in docs/pbs.md of Weft.
import json
import pwd
import re
import subprocess

import pbs

VERSION = 1
NODE_LIMIT = 9.5  # seconds that weft-hook may take on a node; PBS's own alarm is 30 s
SERVER_LIMIT = 0.2  # and inside pbs_server
MOST = 1 << 20  # bytes of an answer

# The events by their names in the module; an older PBS lacks some.
NAMES = {
    "EXECJOB_BEGIN": "execjob_begin",
    "EXECJOB_LAUNCH": "execjob_launch",
    "EXECJOB_END": "execjob_end",
    "EXECJOB_ABORT": "execjob_abort",
    "EXECHOST_STARTUP": "exechost_startup",
    "EXECHOST_PERIODIC": "exechost_periodic",
    "RUNJOB": "runjob",
    "JOBOBIT": "jobobit",
    "QUEUEJOB": "queuejob",
    "MODIFYJOB": "modifyjob",
}
TEXT = ("queuejob", "modifyjob")  # a user writes, and reads at once why it cannot be
IN_SERVER = ("runjob", "jobobit") + TEXT
HOST = ("exechost_startup", "exechost_periodic")
REFUSABLE = ("execjob_begin", "execjob_launch", "runjob") + TEXT
PLAIN = re.compile("[A-Za-z0-9_.:@/+-]*")  # an account of which there is nothing to ask


class NoAnswer(Exception):
    """weft-hook did not say what to do."""


def phase_of(event):
    for constant, name in NAMES.items():
        if hasattr(pbs, constant) and event.type == getattr(pbs, constant):
            return name
    return None


def read_config():
    with open(pbs.hook_config_filename) as f:
        return json.load(f)


def attribute(thing, name):
    """An attribute, or None where it is not set or this event does not show it."""
    try:
        return getattr(thing, name)
    except Exception:
        return None


def text(value):
    return "" if value is None else str(value)


def number(value):
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def uid_of(user):
    try:
        return pwd.getpwnam(user).pw_uid
    except (KeyError, TypeError, ValueError):
        return None


def asked(job, names):
    """What a job asks of Weft. Where pbs_server shows a job, its list of resources has no keys, only values by name."""
    found = {}
    wanted = attribute(job, "Resource_List")
    for name in names:
        try:
            value = wanted[name]
        except Exception:
            continue
        if value is not None and str(value) != "":
            found[name] = str(value)
    return found


def describe(event, phase, config):
    told = {"v": VERSION}
    if phase in HOST:
        if phase == "exechost_periodic":
            jobs = attribute(event, "job_list")
            told["jobs"] = sorted(str(j) for j in jobs) if jobs is not None else None
        return told
    job = event.job
    if phase in TEXT:
        told.update(account=text(attribute(job, "Account_Name")), resources=asked(job, config.get("resources", [])))
        return told
    user = text(attribute(job, "euser"))
    told.update(job=job.id, user=user, run_count=number(attribute(job, "run_count")))
    if phase not in IN_SERVER:  # where a user database that hangs would stop pbs_server; the Weft server asks its own host's
        told["uid"] = uid_of(user)
        told["room"] = bool(config.get("room"))
    else:
        queue = attribute(job, "queue")
        told.update(
            group=text(attribute(job, "egroup")),
            queue=text(attribute(queue, "name") or queue),
            account=text(attribute(job, "Account_Name")),
            submitted=number(attribute(job, "ctime")) or 0,
            exec_vnode=text(attribute(job, "exec_vnode")),
            resources=asked(job, config.get("resources", [])),
        )
    return told


def ask(phase, told, config):
    command = [config["weft_hook"]]
    folder = config.get("server_dir" if phase in IN_SERVER else "dir")
    if folder:
        command += ["--dir", folder]
    command += [config["scheduler"], phase]
    # On one processor, for which Go starts faster than for each of the node's.
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GOMAXPROCS": "1"}
    if "job" in told:
        env["PBS_JOBID"] = told["job"]
    limit = SERVER_LIMIT if phase in IN_SERVER else NODE_LIMIT
    try:
        done = subprocess.run(
            command,
            input=json.dumps(told).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd="/",
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer("weft-hook did not answer within %s s" % limit)
    except OSError as e:
        raise NoAnswer("%s: %s" % (config["weft_hook"], e.strerror))
    said = done.stderr.decode("utf-8", "replace").strip()
    # pbs_server may have taken the exit code away, since it waits for its own children; that there is a whole answer tells more.
    if not done.stdout and done.returncode == 0 and phase not in IN_SERVER:
        return {"v": VERSION, "do": "accept", "log": [said]}  # root has let all hooks go by, and no agent ever said what they are for
    try:
        answer = json.loads(done.stdout[:MOST].decode("utf-8"))
        if answer["v"] != VERSION or answer["do"] not in ("accept", "reject", "delete", "offline") or not well_formed(answer):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise NoAnswer(said.splitlines()[-1] if said else "weft-hook gave no answer")
    if said:
        answer.setdefault("log", []).append(said)
    return answer


def well_formed(answer):
    """Whether all that an answer says has the form that is read below."""
    return (
        isinstance(answer.get("say", ""), str)
        and all(isinstance(answer.get(k, []), list) and all(isinstance(line, str) for line in answer.get(k, [])) for k in ("log", "unset"))
        and isinstance(answer.get("set", {}), dict)
        and all(isinstance(value, str) for value in answer.get("set", {}).values())
    )


def log(message):
    if message:
        pbs.logmsg(pbs.LOG_WARNING, message if message.startswith("weft: ") else "weft: " + message)


def is_local(name, vnode, here):
    """Whether a vnode is this host's: vnode_list has all of a job's."""
    if name == here or name.startswith(here + "["):
        return True
    mom = text(attribute(vnode, "Mom")).split(",")[0]
    return mom != "" and mom.split(".")[0] == here.split(".")[0]


def take_offline(event, comment):
    here = pbs.get_local_nodename()
    taken = 0
    vnodes = attribute(event, "vnode_list") or {}
    for name in list(vnodes.keys()):
        if is_local(name, vnodes[name], here):
            vnodes[name].state = pbs.ND_OFFLINE
            vnodes[name].comment = comment
            taken += 1
    if not taken:
        log("no vnode of %s could be taken offline: %s" % (here, comment))


def escaped(value):
    """PBS cuts a value at a comma that has no backslash before it."""
    return value.replace(",", "\\,")


def set_environment(event, answer):
    for name in answer.get("unset", []):
        if name in event.env:
            del event.env[name]
    for name, value in answer.get("set", {}).items():
        event.env[name] = escaped(value)


def main():
    event = pbs.event()
    phase = phase_of(event)
    if phase is None:
        event.accept()
    try:
        config = read_config()
        told = describe(event, phase, config)
        if phase in TEXT and not told["resources"] and PLAIN.fullmatch(told["account"]):
            event.accept()
        answer = ask(phase, told, config)
        if phase == "execjob_launch" and answer["do"] == "accept":
            set_environment(event, answer)
    except Exception as e:
        # Nothing that Weft does not answer may run. A node on which it does not answer would draw job after job and hold each, so it takes no more.
        # What is only written down is read once more before it runs.
        why = "weft: %s" % (e if isinstance(e, NoAnswer) else "%s: %s" % (type(e).__name__, e))
        answer = {"do": "offline" if phase == "execjob_begin" else "accept" if phase in TEXT else "reject", "say": why}
    for line in answer.get("log", []):
        log(line)
    do, say = answer["do"], answer.get("say") or "weft: it cannot run"
    if do == "accept":
        log(answer.get("say"))
        event.accept()
    if do == "offline":
        take_offline(event, say)
    if do == "delete":
        event.job.delete()
    if phase in REFUSABLE:
        event.reject(say)
    log(say)
    event.accept()


main()
