#include <sys/types.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/sysctl.h>
#include <sys/event.h>
#include <sys/file.h>
#include <sys/param.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/random.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
#include <spawn.h>
#include <fcntl.h>
#include <errno.h>
#include <time.h>
#include <math.h>
#include <pthread.h>
#include <dlfcn.h>
#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <locale.h>
#include <xlocale.h>
#include <poll.h>
#include <termios.h>
#include <limits.h>
#include <libproc.h>
#include <copyfile.h>
#include <execinfo.h>
#include <crt_externs.h>
#include <mach/mach.h>
#include <mach/mach_time.h>
#include <regex.h>
// The headers that declare these functions are not in the package.
int openpty(int *, int *, char *, struct termios *, struct winsize *);
ssize_t listxattr(const char *, char *, size_t, int);
ssize_t getxattr(const char *, const char *, void *, size_t, unsigned, int);
int setxattr(const char *, const char *, const void *, size_t, unsigned, int);
