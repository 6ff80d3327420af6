/*
 * A stand-in for libcxi.so.1 that measures its callers: no process or socket is behind it. Each call of the driver is one
 * system call that keeps a processor busy in the kernel, for the time that COST random bytes take, under the NIC's lock
 * as in the driver (svc_lock). A list is two of them, and opening a NIC looks at sysfs, as in libcxi (src/libcxi.c and
 * src/devinfo.c of 14.0.0). It knows what a job needs and checks nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NICS = 64, SERVICES = 16, DESC = 68, INFO = 152, ENABLED = 16 };

struct device {
	uint8_t info[INFO];
	uint32_t nic;
	int fd;
};

static struct nic {
	pthread_mutex_t lock;
	uint8_t service[SERVICES][DESC]; /* service i + 1; its first byte is 0 where there is none */
} nics[NICS];

__attribute__((constructor)) static void probe(void)
{
	for (int i = 0; i < NICS; i++) {
		pthread_mutex_init(&nics[i].lock, NULL);
		for (int id = 1; id <= 3; id++) { /* the default service and the driver's own two */
			nics[i].service[id - 1][0] = id == 1 ? 10 : 63;
			nics[i].service[id - 1][64] = id;
		}
	}
}

/* Enters the driver. */
static struct nic *call(struct device *d)
{
	static __thread char bytes[COST];

	pthread_mutex_lock(&nics[d->nic].lock);
	while (getrandom(bytes, COST, 0) < 0)
		;
	return &nics[d->nic];
}

static int leave(struct nic *n, int code)
{
	pthread_mutex_unlock(&n->lock);
	return code;
}

int cxil_open_device(uint32_t nic, struct device **out)
{
	struct device *d = calloc(1, sizeof(*d));
	char path[PATH_MAX], real[PATH_MAX];
	struct stat bar;
	Dl_info self;
	uint16_t total[] = {2048, 1024, 512, 2047, 2047, 1022, 2048, 16384};

	if (!d || nic >= NICS || !dladdr((void *)probe, &self))
		return -ENODEV;
	d->nic = nic;
	d->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "%.*s/sys/class/cxi_user/cxi%u/device",
		 (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname, nic);
	if (d->fd < 0 || access(path, F_OK) || !realpath(path, real) || !realpath(path, real))
		return -ENODEV;
	strcat(real, "/resource0");
	stat(real, &bar);
	leave(call(d), 0);
	memcpy(d->info + 72, total, sizeof(total));
	*out = d;
	return 0;
}

void cxil_close_device(struct device *d)
{
	close(d->fd);
	free(d);
}

int cxil_alloc_svc(struct device *d, const void *desc, void *fail)
{
	struct nic *n = call(d);

	memset(fail, 0, 20);
	for (int i = 0; i < SERVICES; i++) {
		if (!n->service[i][0]) {
			memcpy(n->service[i], desc, DESC);
			n->service[i][0] |= ENABLED;
			n->service[i][64] = i + 1;
			return leave(n, i + 1);
		}
	}
	return leave(n, -ENOSPC);
}

int cxil_destroy_svc(struct device *d, unsigned id)
{
	struct nic *n = call(d);

	if (id <= 3 || id > SERVICES || !n->service[id - 1][0])
		return leave(n, -EINVAL);
	n->service[id - 1][0] = 0;
	return leave(n, 0);
}

int cxil_get_svc(struct device *d, unsigned id, void *desc)
{
	struct nic *n = call(d);

	if (!id || id > SERVICES || !n->service[id - 1][0])
		return leave(n, -EINVAL);
	memcpy(desc, n->service[id - 1], DESC);
	return leave(n, 0);
}

int cxil_get_svc_list(struct device *d, uint32_t **out)
{
	uint32_t *list = calloc(1, sizeof(*list) + SERVICES * DESC);
	struct nic *n;

	if (!list)
		return -ENOMEM;
	leave(call(d), 0);
	n = call(d);
	for (int i = 0; i < SERVICES; i++)
		if (n->service[i][0])
			memcpy((char *)(list + 1) + DESC * (*list)++, n->service[i], DESC);
	*out = list;
	return leave(n, 0);
}

void cxil_free_svc_list(void *list) { free(list); }

int cxil_alloc_lni(struct device *d, void **lni, unsigned id)
{
	(void)lni;
	return leave(call(d), id == 1 ? -EKEYREVOKED : -EPERM);
}

/* What is looked up and not called. */
void cxil_destroy_lni(void) {}
void cxil_alloc_cp(void) {}
void cxil_destroy_cp(void) {}
