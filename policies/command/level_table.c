/*
 * Commands whose risk does not depend on their words. docs/POLICY.md has the
 * same table.
 */
#include "common/cleanup.h"
#include "policies/command/call.h"

static const struct {
	const char *names;
	enum command_risk risk;
	const char *why;
} rows[] = {
	{"ls dir vdir cat tac nl head tail wc grep egrep fgrep zgrep which "
	 "whereis stat du df pwd basename dirname realpath readlink echo true "
	 "false : test [ expr seq cal uname whoami id groups who w uptime ps "
	 "pgrep free lscpu lsblk lsof nproc getconf locale printenv cut paste "
	 "tr rev fold fmt column comm diff cmp md5sum sha1sum sha224sum "
	 "sha256sum sha384sum sha512sum cksum b2sum sum base64 base32 od "
	 "hexdump strings jq sleep tput tty cd pushd popd dirs exit return "
	 "break continue shift type umask ulimit fg bg times "
	 "help zcat bzcat xzcat zstdcat join",
	 RISK_LOW, NULL},
	{"cp mv mkdir rmdir touch ln tee truncate patch unzip gzip "
	 "gunzip bzip2 bunzip2 xz unxz zstd unzstd cpio csplit mktemp "
	 "mkfifo",
	 RISK_MEDIUM, "it writes files"},
	{"ninja meson ld ar as "
	 "rustc rustup npm npx yarn pnpm bunx pip pip3 pipx poetry uv "
	 "uvx bundle gem mvn gradle ant dotnet composer tox nox pytest jest "
	 "tsc eslint prettier mix rebar3 stack cabal",
	 RISK_MEDIUM, "it builds, and runs what the project says"},
	{"curl http https", RISK_MEDIUM, "it reaches the network"},
	{"kill pkill killall skill renice", RISK_MEDIUM,
	 "it acts on other processes"},
	{"sudo su doas pkexec runuser sudoedit visudo setcap setpriv "
	 "systemd-run",
	 RISK_HIGH, "it takes the rights of somebody else"},
	{"dd fdisk sfdisk cfdisk gdisk parted wipefs shred losetup cryptsetup "
	 "mount umount swapon swapoff blkdiscard hdparm chattr debugfs "
	 "badblocks "
	 "lvm lvremove vgremove pvremove zfs zpool btrfs mdadm fstrim",
	 RISK_HIGH, "it can overwrite disks and file systems"},
	{"chroot nsenter unshare proot bwrap firejail ld.so", RISK_HIGH,
	 "it changes what a program sees of the system"},
	{"iptables ip6tables nft ipset ip ifconfig route tc ethtool sysctl "
	 "modprobe insmod rmmod kexec reboot shutdown halt poweroff init "
	 "telinit systemctl service crontab at batch useradd userdel usermod "
	 "groupadd groupdel passwd chpasswd adduser deluser timedatectl "
	 "hostnamectl loginctl update-alternatives ldconfig",
	 RISK_HIGH, "it changes the system"},
	{"apt apt-get aptitude dpkg yum dnf rpm snap flatpak apk pacman zypper "
	 "nix nix-env nix-shell brew",
	 RISK_HIGH, "it installs software"},
	{"docker podman nerdctl buildah skopeo ctr crictl runc crun lxc "
	 "lxc-exec "
	 "virsh qemu-system-x86_64 machinectl kubectl helm oc minikube kind "
	 "vagrant",
	 RISK_HIGH, "it starts what runs outside of this sandbox's policy"},
	{"terraform tofu pulumi ansible ansible-playbook aws gcloud gsutil az "
	 "doctl flyctl heroku vercel netlify wrangler",
	 RISK_HIGH, "it changes machines and services elsewhere"},
	{"ssh scp sftp sshfs rsync mosh telnet ftp lftp nc ncat netcat socat "
	 "nmap tcpdump tshark openvpn wg ngrok cloudflared mail sendmail "
	 "ssh-keygen ssh-add ssh-agent ssh-copy-id gpg gpg2 pass",
	 RISK_HIGH, "it reaches other machines, or keys"},
	{"gdb lldb strace ltrace perf valgrind rr bpftrace", RISK_HIGH,
	 "it looks into, or changes, other programs"},
	{"expect screen tmux script watch parallel entr xdg-open open "
	 "start-stop-daemon run-parts sg newgrp run-mailcap openvt daemonize "
	 "logsave rlwrap uclampset runcon numactl nodemon concurrently "
	 "hyperfine dc m4 gnuplot octave chpst softlimit envuidgid "
	 "envdir tcpsvd udpsvd inotifyd uevent",
	 RISK_HIGH, "it runs commands that cannot be seen here"},
	{"vi vim nvim view ex ed emacs nano", RISK_HIGH,
	 "an editor can run commands"},
	{"eval source . alias enable bind complete compgen shopt fc history "
	 "hash let caller logout suspend disown",
	 RISK_HIGH, "it changes what the shell does, or runs text as code"},
};

/* mkfs.ext4, ld-linux-x86-64.so.2 */
static const struct {
	const char *start, *why;
} starts[] = {
	{"mkfs", "it can overwrite disks and file systems"},
	{"mke2fs", "it can overwrite disks and file systems"},
	{"fsck", "it can overwrite disks and file systems"},
	{"ld-linux", "it starts a program under another name"},
	{"ld-musl", "it starts a program under another name"},
};

bool level_from_table(struct bytes name, struct command_level *level)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!text_is_one_of(name, rows[i].names))
			continue;
		*level = (struct command_level){rows[i].risk, rows[i].why,
						false};
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (!bytes_starts_with(name, bytes_str(starts[i].start)))
			continue;
		*level = level_high(starts[i].why);
		return true;
	}
	return false;
}

bool variable_is_dangerous(struct bytes name)
{
	static const char *const prefixes[] = {
		"LD_",	"BASH_FUNC_", "npm_config_", "NPM_CONFIG_",
		"GIT_", "PIP_",	      "DYLD_"};
	static const char names[] =
		"PATH BASH_ENV ENV IFS CDPATH PS0 PS4 PROMPT_COMMAND SHELLOPTS "
		"BASHOPTS BASH_XTRACEFD SHELL EDITOR VISUAL PAGER MANPAGER "
		"BROWSER LESSOPEN LESSCLOSE PYTHONPATH PYTHONSTARTUP "
		"PYTHONHOME PYTHONINSPECT PYTHONUSERBASE PERL5LIB PERLLIB "
		"PERL5OPT PERL5DB RUBYLIB RUBYOPT NODE_OPTIONS NODE_PATH "
		"JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH "
		"MAKEFLAGS MFLAGS GNUMAKEFLAGS RUSTC RUSTC_WRAPPER GOFLAGS "
		"CARGO_HOME GCONV_PATH LOCPATH HOME XDG_CONFIG_HOME "
		"HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy "
		"https_proxy all_proxy no_proxy SSL_CERT_FILE SSL_CERT_DIR "
		"CURL_HOME GREP_OPTIONS TAR_OPTIONS RIPGREP_CONFIG_PATH "
		"OPENSSL_CONF BASH_LOADABLES_PATH PYTHONWARNINGS "
		"PYTHONBREAKPOINT AWKPATH AWKLIBPATH GLOBIGNORE "
		"POSIXLY_CORRECT GREP LESS MAKEFILES LUA_INIT PHPRC FCEDIT "
		"RSYNC_RSH SSH_ASKPASS SUDO_ASKPASS GOROOT GOTOOLCHAIN RUSTDOC "
		"JAVA_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS INPUTRC";
	static const char harmless[] =
		"GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE "
		"GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE "
		"GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS";

	if (text_is_one_of(name, harmless))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (bytes_starts_with(name, bytes_str(prefixes[i])))
			return true;
	return text_is_one_of(name, names);
}
