"""A stand-in for the module that PBS gives to hooks, as it was observed on OpenPBS 23.06: what an event shows and what may be set in it."""

EXECJOB_BEGIN, EXECJOB_LAUNCH, EXECJOB_END, EXECJOB_ABORT = 0x80, 0x8000, 0x400, 0x200000
EXECHOST_STARTUP, EXECHOST_PERIODIC, RUNJOB, JOBOBIT, QUEUEJOB = 0x10000, 0x2000, 0x10, 0x800000, 0x1
MODIFYJOB, MOVEJOB = 0x2, 0x8
TYPES = {
    "execjob_begin": EXECJOB_BEGIN,
    "execjob_launch": EXECJOB_LAUNCH,
    "execjob_end": EXECJOB_END,
    "execjob_abort": EXECJOB_ABORT,
    "exechost_startup": EXECHOST_STARTUP,
    "exechost_periodic": EXECHOST_PERIODIC,
    "runjob": RUNJOB,
    "jobobit": JOBOBIT,
    "queuejob": QUEUEJOB,
    "modifyjob": MODIFYJOB,
    "movejob": MOVEJOB,
}
IN_SERVER = ("runjob", "jobobit", "queuejob", "modifyjob", "movejob")
LOG_WARNING, ND_OFFLINE = 4, 1

hook_config_filename = None
given = None  # what the test says of the event
done = {"log": [], "rejected": False, "message": "", "deleted": False, "rerun": False, "offline": {}}

# PBS keeps these for itself.
READ_ONLY = ("PBS_ENVIRONMENT", "PBS_JOBDIR", "PBS_JOBID", "PBS_JOBNAME", "PBS_NODEFILE", "TMPDIR", "PBS_QUEUE")


class Resources:
    """Resource_List: inside pbs_server it has no keys, and values are had by name alone."""

    def __init__(self, values, in_server):
        self._values, self._in_server = values, in_server

    def keys(self):
        return [] if self._in_server else list(self._values)

    def __getitem__(self, name):
        return self._values.get(name)


class Queue:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


class Job:
    def __init__(self, values, in_server):
        self.id = values["id"]
        self.exec_host = None  # in hooks
        for name in ("euser", "egroup", "run_count", "exec_vnode", "Account_Name", "ctime"):
            setattr(self, name, values.get(name))
        self.queue = Queue(values.get("queue", "workq"))
        self.Resource_List = Resources(values.get("resources") or {}, in_server)
        self._in_server = in_server

    def delete(self):
        if self._in_server:
            raise AttributeError("delete: a job can be deleted in hooks of MOM only")
        done["deleted"] = True

    def rerun(self):
        done["rerun"] = True


class Vnode:
    def __init__(self, name, mom):
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "Mom", mom)

    def __setattr__(self, name, value):
        if name not in ("state", "comment"):
            raise AttributeError("vnode attribute '%s' cannot be set here" % name)
        object.__setattr__(self, name, value)
        if name == "state" and value == ND_OFFLINE:
            done["offline"].setdefault(self._name, "")
        if name == "comment":
            done["offline"][self._name] = value


class Env(dict):
    def __setitem__(self, name, value):
        if name in READ_ONLY:
            raise ValueError("env variable '%s' is read-only" % name)
        if not isinstance(value, str):
            raise TypeError("env variable '%s' is no text" % name)
        dict.__setitem__(self, name, value)

    def __delitem__(self, name):
        if name in READ_ONLY:
            raise ValueError("env variable '%s' is read-only" % name)
        dict.__delitem__(self, name)

    def arrives(self):
        """What a task is given: the variables travel in one list with commas between, so that a value ends at its first bare comma."""
        out = {}
        for name, value in self.items():
            text, i = "", 0
            while i < len(value) and value[i] != ",":
                if value[i] == "\\" and i + 1 < len(value):
                    i += 1
                text += value[i]
                i += 1
            out[name] = text
        return out


class Event:
    def __init__(self):
        name = given["event"]
        self.type = TYPES[name]
        in_server = name in IN_SERVER
        if "job" in given:
            self.job = Job(given["job"], in_server)
        if not in_server:
            self.vnode_list = {v: Vnode(v, m) for v, m in given.get("vnodes", {}).items()}
        if name == "execjob_launch":
            self.env, self.progname, self.argv = Env(given.get("env", {})), "/bin/sh", []
        if name == "exechost_periodic":
            self.job_list = {j: None for j in given.get("jobs", [])}

    def accept(self, code=0):
        raise SystemExit(str(code))

    def reject(self, message="", code=255):
        done["rejected"], done["message"] = True, message
        raise SystemExit(str(code))


_event = None


def event():
    global _event
    _event = _event or Event()
    return _event


def logmsg(level, text):
    done["log"].append(text)


def get_local_nodename():
    return given["host"]
