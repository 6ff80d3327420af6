/*
 * A stand-in for libcxi.so.1, for tests: the functions and layouts that libcxi exports, and behind them a socket instead of /dev/cxiN. Each call is one
 * request to the test that serves "nic.sock" beside this library; the rules of the driver are drivers/sim/kernel's, nothing is decided here.
 *
 * LIBCXI is the newest symbol version that it has: 8 as with SHS 12.0 and 13.0, 9 with 13.1, 10 with 14.0, 11 with
 * what is newer than 14.0.1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { DESC = 68, USE = 24, FAIL = 20, INFO = 152 };

enum op {
	OPEN = 1, ALLOC, DESTROY, LIST, GET, USE_LIST, USE_ONE, SET_LPR, GET_LPR, ENABLE,
	SET_RANGE, GET_RANGE, SET_NETNS, GET_NETNS, DEVICES, OPEN_LNI, CLOSE_LNI, OPEN_CP
};

struct request {
	uint32_t op, device, id, a, b;
	uint8_t desc[DESC];
};

struct reply {
	int32_t code;
	uint32_t length;
};

struct device {
	uint8_t info[INFO]; /* what callers see: struct cxil_devinfo */
	uint32_t id;
	int socket;
	pthread_mutex_t turn;
};

struct lni {
	uint32_t id;
	struct device *device;
};

static int dial(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	Dl_info self;
	const char *slash;
	size_t folder;
	int fd;

	if (!dladdr((void *)dial, &self) || !(slash = strrchr(self.dli_fname, '/')))
		return -ENODEV;
	folder = slash - self.dli_fname + 1;
	if (folder + sizeof("nic.sock") > sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, self.dli_fname, folder);
	strcpy(to.sun_path + folder, "nic.sock");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return -ENODEV;
	}
	return fd;
}

static int all(int fd, void *data, size_t length, bool out)
{
	char *at = data;

	while (length) {
		ssize_t n = out ? send(fd, at, length, MSG_NOSIGNAL) : recv(fd, at, length, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		at += n;
		length -= n;
	}
	return 0;
}

/* One request and its answer; *more is what the answer carries, for the caller to free. */
static int ask(int fd, struct request *r, void **more, uint32_t *length)
{
	struct reply p;
	void *data = NULL;

	if (all(fd, r, sizeof(*r), true) || all(fd, &p, sizeof(p), false))
		return -EIO;
	if (p.length && (!(data = malloc(p.length)) || all(fd, data, p.length, false))) {
		free(data);
		return -EIO;
	}
	if (more) {
		*more = data;
		*length = p.length;
	} else {
		free(data);
	}
	return p.code;
}

static int call(struct device *d, struct request *r, void *out, uint32_t want)
{
	void *data = NULL;
	uint32_t length = 0;
	int code;

	if (!d)
		return -EINVAL;
	r->device = d->id;
	pthread_mutex_lock(&d->turn);
	code = ask(d->socket, r, &data, &length);
	pthread_mutex_unlock(&d->turn);
	if (out && length == want)
		memcpy(out, data, want);
	free(data);
	return code;
}

/* A list as libcxi returns it: a count, then the items. libcxi asks twice: how many there are, and for so many. */
static int list(struct device *d, enum op op, uint32_t item, uint32_t head, void **out)
{
	struct request r = {.op = op};
	void *data = NULL;
	uint32_t length = 0, count;
	char *made;
	int code;

	if (!d)
		return -EINVAL;
	r.device = d->id;
	pthread_mutex_lock(&d->turn);
	code = ask(d->socket, &r, NULL, NULL);
	if (!code)
		code = ask(d->socket, &r, &data, &length);
	pthread_mutex_unlock(&d->turn);
	if (code) {
		free(data);
		return code;
	}
	made = calloc(1, head + length + item);
	if (!made) {
		free(data);
		return -ENOMEM;
	}
	count = length / item;
	memcpy(made, &count, sizeof(count));
	if (length)
		memcpy(made + head, data, length);
	free(data);
	*out = made;
	return 0;
}

int cxil_open_device(uint32_t id, struct device **out)
{
	struct request r = {.op = OPEN, .device = id};
	struct device *d = calloc(1, sizeof(*d));
	void *data = NULL;
	uint32_t length = 0;
	int code;

	if (!d)
		return -ENOMEM;
	d->id = id;
	pthread_mutex_init(&d->turn, NULL);
	d->socket = dial();
	if (d->socket < 0) {
		code = d->socket;
		free(d);
		return code;
	}
	code = ask(d->socket, &r, &data, &length);
	if (!code && length != INFO)
		code = -EIO;
	if (code) {
		close(d->socket);
		free(data);
		free(d);
		return code;
	}
	memcpy(d->info, data, INFO);
	free(data);
	*out = d;
	return 0;
}

void cxil_close_device(struct device *d)
{
	if (!d)
		return;
	close(d->socket);
	pthread_mutex_destroy(&d->turn);
	free(d);
}

int cxil_get_device_list(void **out)
{
	struct device d = {.socket = dial(), .turn = PTHREAD_MUTEX_INITIALIZER};
	int code;

	if (d.socket < 0)
		return d.socket;
	code = list(&d, DEVICES, INFO, 8, out);
	close(d.socket);
	return code;
}

void cxil_free_device_list(void *l) { free(l); }

int cxil_alloc_svc(struct device *d, const void *desc, void *fail)
{
	struct request r = {.op = ALLOC};

	if (!desc)
		return -EINVAL;
	memcpy(r.desc, desc, DESC);
	return call(d, &r, fail, FAIL);
}

int cxil_destroy_svc(struct device *d, unsigned id)
{
	struct request r = {.op = DESTROY, .id = id};

	return id ? call(d, &r, NULL, 0) : -EINVAL;
}

int cxil_get_svc_list(struct device *d, void **out) { return list(d, LIST, DESC, 4, out); }
void cxil_free_svc_list(void *l) { free(l); }

int cxil_alloc_lni(struct device *d, struct lni **out, unsigned service)
{
	struct request r = {.op = OPEN_LNI, .id = service, .a = geteuid(), .b = getegid()};
	uint32_t id;
	int code;

	r.desc[0] = LIBCXI >= 11 ? 24 : 16; /* the size of struct cxi_lni_alloc_cmd */
	code = call(d, &r, &id, sizeof(id));

	if (code)
		return code;
	*out = malloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->id = id;
	(*out)->device = d;
	return 0;
}

int cxil_destroy_lni(struct lni *l)
{
	struct request r = {.op = CLOSE_LNI, .id = l->id};
	int code = call(l->device, &r, NULL, 0);

	if (!code)
		free(l);
	return code;
}

/* A communication profile: libraries from 13.1 on ask for one by a command of their own, TRIG_CP_ALLOC. */
int cxil_alloc_cp(struct lni *l, unsigned vni, unsigned class, unsigned kind, void **out)
{
	struct request r = {.op = OPEN_CP, .id = l->id, .a = geteuid(), .b = getegid()};
	int code;

	r.desc[0] = LIBCXI >= 9 ? 83 : 6; /* enum cxi_command_opcode */
	r.desc[1] = class;
	r.desc[2] = kind;
	memcpy(r.desc + 4, &vni, sizeof(vni));
	code = call(l->device, &r, NULL, 0);
	*out = code ? NULL : malloc(1);
	return code;
}

int cxil_destroy_cp(void *cp)
{
	free(cp);
	return 0;
}

int cxil_get_svc(struct device *d, unsigned id, void *desc)
{
	struct request r = {.op = GET, .id = id};

	return call(d, &r, desc, DESC);
}

int cxil_get_svc_rsrc_list(struct device *d, void **out) { return list(d, USE_LIST, USE, 4, out); }
void cxil_free_svc_rsrc_list(void *l) { free(l); }

int cxil_get_svc_rsrc_use(struct device *d, unsigned id, void *use)
{
	struct request r = {.op = USE_ONE, .id = id};

	return call(d, &r, use, USE);
}

int cxil_set_svc_lpr(struct device *d, unsigned id, unsigned lpr)
{
	struct request r = {.op = SET_LPR, .id = id, .a = lpr};

	return call(d, &r, NULL, 0);
}

int cxil_get_svc_lpr(struct device *d, unsigned id)
{
	struct request r = {.op = GET_LPR, .id = id};
	uint32_t lpr;
	int code = call(d, &r, &lpr, sizeof(lpr));

	return code ? code : (int)lpr;
}

#if LIBCXI >= 9
int cxil_svc_enable(struct device *d, unsigned id, bool on)
{
	struct request r = {.op = ENABLE, .id = id, .a = on};

	return id ? call(d, &r, NULL, 0) : -EINVAL;
}

int cxil_svc_set_vni_range(struct device *d, unsigned id, uint16_t from, uint16_t to)
{
	struct request r = {.op = SET_RANGE, .id = id, .a = from, .b = to};

	return call(d, &r, NULL, 0);
}

int cxil_svc_get_vni_range(struct device *d, unsigned id, uint16_t *from, uint16_t *to)
{
	struct request r = {.op = GET_RANGE, .id = id};
	uint32_t value[2];
	int code = call(d, &r, value, sizeof(value));

	if (!code) {
		*from = value[0];
		*to = value[1];
	}
	return code;
}
#endif

#if LIBCXI >= 10
int cxil_svc_set_netns(struct device *d, unsigned id, unsigned netns)
{
	struct request r = {.op = SET_NETNS, .id = id, .a = netns};

	return call(d, &r, NULL, 0);
}

int cxil_svc_get_netns(struct device *d, unsigned id, unsigned *netns)
{
	struct request r = {.op = GET_NETNS, .id = id};

	return call(d, &r, netns, sizeof(*netns));
}
#endif

#if LIBCXI >= 11
int cxil_alloc_buf_cmdq(void) { return -ENOSYS; }
#endif
