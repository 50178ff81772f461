//! The seccomp filter: system calls that a command cannot make.
//!
//! The list is of what opens ways around the rules on files (mounts, namespaces, handles, io_uring), into other processes,
//! into the kernel, into the terminal, and to sockets. Everything else is allowed: the rules on files are Landlock's or
//! the mount namespace's.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use super::SandboxError;

/// Which sockets a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Pairs only: no way to anybody else.
    None,
    /// To other machines, and to this one by its addresses; never by a path or a name.
    Internet,
    /// To this machine's addresses and by path: it is alone in its network namespace.
    Own,
}

/// Exceptions from the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilterExceptions {
    pub(super) sockets: Sockets,
    /// It has process numbers, shared memory and messages of its own.
    pub(super) is_in_view: bool,
    /// Memory in files without a name. Nobody counts it who cannot look into every process.
    pub(super) nameless_memory: bool,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: TargetArch = TargetArch::riscv64;

/// Newer than the list we have it from. New calls have the same number on every machine.
const OPEN_TREE_ATTR: i64 = 467;
const FCHMODAT2: i64 = 452;

const FORBIDDEN: &[i64] = &[
    // Other places, and other names for files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_open_by_handle_at,
    // Work that is done without system calls of its own.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    // Keys that the kernel keeps.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel and the machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Memory and messages that programs share by number, not by path: everybody's, and there after a command has ended. Where
/// a command has a namespace of its own for them they are harmless.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Everybody that a process may send signals to.
const EVERYBODY: u64 = 0xffff_ffff;

/// Options that enlarge what waits in a socket, which is memory that no process has.
const ENLARGING: [libc::c_int; 4] =
    [libc::SO_SNDBUF, libc::SO_RCVBUF, libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE];

/// Where the kind of a socket stands; the other bits are flags.
const KIND_OF_SOCKET: u64 = 0xf;

/// `ioctl`s that write into a terminal as if somebody typed.
const TERMINAL: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// CLONE_NEWTIME has the place of a signal number in `clone`, and is only for `clone3` and `unshare`.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The programs to put on, in this order.
pub(super) fn programs(allowed: FilterExceptions) -> Result<Vec<BpfProgram>, SandboxError> {
    let refused = rules(allowed).map_err(|error| SandboxError::setup("system calls", error))?;
    // `clone3` keeps its flags where a filter cannot look; told that there is none, libraries use `clone`. So it is with
    // `openat2` and what it can make.
    let mut unknown = Rules::from([(libc::SYS_clone3, Vec::new()), (libc::SYS_openat2, Vec::new())]);
    if !allowed.nameless_memory {
        unknown.insert(libc::SYS_memfd_create, Vec::new());
        unknown.insert(libc::SYS_memfd_secret, Vec::new());
    }
    // To enlarge a buffer is a wish: told that it was granted, programs go on as they are.
    let mut ignored = Rules::new();
    if allowed.is_in_view {
        let enlarged = ENLARGING.iter().map(|option| {
            let of_sockets = (1, SeccompCmpOp::Eq, u64::from(libc::SOL_SOCKET.unsigned_abs()));
            rule(&[of_sockets, (2, SeccompCmpOp::Eq, u64::from(option.unsigned_abs()))])
        });
        let enlarged = enlarged.collect::<Result<_, _>>();
        let enlarged = enlarged.map_err(|error| SandboxError::setup("system calls", error))?;
        ignored.insert(libc::SYS_setsockopt, enlarged);
    }
    [(refused, libc::EPERM), (unknown, libc::ENOSYS), (ignored, 0)]
        .into_iter()
        .filter(|(rules, _)| !rules.is_empty())
        .map(|(rules, errno)| {
            compile(rules, errno).map_err(|error| SandboxError::setup("system calls", error))
        })
        .collect()
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, ARCHITECTURE)?.try_into()
}

fn rules(allowed: FilterExceptions) -> Result<Rules, seccompiler::BackendError> {
    let FilterExceptions { sockets, is_in_view, .. } = allowed;
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let clone = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        rule(&[(0, SeccompCmpOp::MaskedEq(flag), flag)])
    });
    rules.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    let typing = TERMINAL.iter().map(|request| rule(&[(1, SeccompCmpOp::Eq, *request)]));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    // The mark by which a command's processes are found.
    let locks = u64::from(libc::RLIMIT_LOCKS);
    // And nobody else's limits: to have no processor time left is to be killed.
    let own_mark = rule_wide(&[(1, locks, Width::Half), (2, 0, Width::NotZero)])?;
    let of_others = rule_wide(&[(0, 0, Width::HalfNotZero), (2, 0, Width::NotZero)])?;
    rules.insert(libc::SYS_prlimit64, vec![own_mark, of_others]);
    if !is_in_view {
        rules.insert(libc::SYS_kill, vec![rule(&[(0, SeccompCmpOp::Eq, EVERYBODY)])?]);
    }
    lent_rights(&mut rules)?;
    #[cfg(not(target_arch = "riscv64"))]
    rules.insert(libc::SYS_setrlimit, vec![rule(&[(0, SeccompCmpOp::Eq, locks)])?]);
    let (unix, internet, internet_6, netlink) =
        [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
            .map(|family| u64::from(family.unsigned_abs()))
            .into();
    if !is_in_view {
        rules.extend(SHARED.iter().map(|call| (*call, Vec::new())));
    }
    if sockets != Sockets::Own {
        // One of a pair for datagrams can send to any other socket by its path; one for a stream is bound to its twin.
        let datagrams = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| {
            let kind = u64::from(kind.unsigned_abs());
            rule(&[(1, SeccompCmpOp::MaskedEq(KIND_OF_SOCKET), kind)])
        });
        let mut pairs = vec![rule(&[(0, SeccompCmpOp::Ne, unix)])?];
        for datagrams in datagrams {
            pairs.push(datagrams?);
        }
        rules.insert(libc::SYS_socketpair, pairs);
    }
    match sockets {
        Sockets::None => {
            rules.insert(libc::SYS_socket, Vec::new());
        }
        Sockets::Internet | Sockets::Own => {
            let unix = (sockets == Sockets::Own).then_some(unix);
            let families = [internet, internet_6, netlink].into_iter().chain(unix);
            let other: Vec<_> = families.map(|family| (0, SeccompCmpOp::Ne, family)).collect();
            // Names are looked up with the help of netlink's routing family; the others are the kernel's.
            let not_routing = [(0, SeccompCmpOp::Eq, netlink), (2, SeccompCmpOp::Ne, 0)];
            rules.insert(libc::SYS_socket, vec![rule(&other)?, rule(&not_routing)?]);
        }
    }
    also_by_their_other_numbers(&mut rules);
    Ok(rules)
}

/// Files that lend their owner's or their group's rights to whoever runs them cannot be made.
fn lent_rights(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    const LENT: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];
    let creates = u64::from(libc::O_CREAT.unsigned_abs());
    let mode_at = |argument: u8| LENT.map(|bit| rule(&[(argument, SeccompCmpOp::MaskedEq(bit), bit)]));
    let made_at = |flags: u8, mode: u8| {
        LENT.map(|bit| {
            rule(&[
                (flags, SeccompCmpOp::MaskedEq(creates), creates),
                (mode, SeccompCmpOp::MaskedEq(bit), bit),
            ])
        })
    };
    let mut add = |call: i64, more: [Result<SeccompRule, seccompiler::BackendError>; 2]| {
        let more: Result<Vec<_>, _> = more.into_iter().collect();
        more.map(|more| rules.entry(call).or_default().extend(more))
    };
    for (call, argument) in
        [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)]
    {
        add(call, mode_at(argument))?;
    }
    add(libc::SYS_openat, made_at(2, 3))?;
    #[cfg(target_arch = "x86_64")]
    {
        for (call, argument) in [(libc::SYS_chmod, 1), (libc::SYS_mknod, 1), (libc::SYS_creat, 1)] {
            add(call, mode_at(argument))?;
        }
        add(libc::SYS_open, made_at(1, 2))?;
    }
    Ok(())
}

/// On x86-64 most system calls can also be made with this bit set, which makes another number of it.
#[cfg(target_arch = "x86_64")]
fn also_by_their_other_numbers(rules: &mut Rules) {
    const X32: i64 = 0x4000_0000;
    let same: Vec<_> = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
    rules.extend(same);
    // Some have numbers of their own: ioctl, ptrace, kexec_load, process_vm_readv, process_vm_writev, setsockopt.
    for call in [514, 521, 528, 539, 540, 541] {
        rules.insert(call | X32, Vec::new());
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn also_by_their_other_numbers(_: &mut Rules) {}

enum Width {
    Half,
    HalfNotZero,
    NotZero,
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn rule_wide(conditions: &[(u8, u64, Width)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(argument, value, width)| match width {
        Width::Half => SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *value),
        Width::HalfNotZero => {
            SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *value)
        }
        Width::NotZero => SeccompCondition::new(*argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, *value),
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// A program as bubblewrap reads it.
pub(super) fn bytes(program: &BpfProgram) -> Vec<u8> {
    let instruction = |one: &seccompiler::sock_filter| {
        let [low, high] = one.code.to_ne_bytes();
        let [a, b, c, d] = one.k.to_ne_bytes();
        [low, high, one.jt, one.jf, a, b, c, d]
    };
    program.iter().flat_map(instruction).collect()
}
