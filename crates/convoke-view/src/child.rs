//! The code that runs between `fork` and `exec`.
//!
//! The process that was forked has one thread and a copy of our memory, in which any lock may be held by a thread that is
//! not there. So everything here is system calls on what [`PreparedView`] holds: nothing is allocated, nothing is locked, nothing
//! may panic. What fails is told through a pipe.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::{c_int, c_long, c_ulong};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg,
    socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::error::ViewError;
use crate::prepared::{MountStep, PreparedView, failed};
use crate::running::RunningProgram;

/// What fails besides the steps that make the tree, by the numbers that are told.
const PARTS: &[&str] = &[
    "joining the control group",
    "making namespaces",
    "mapping the user",
    "starting a process",
    "making mounts private",
    "entering the root",
    "bringing up the loopback",
    "listening for the view",
    "entering the folder to start in",
    "setting limits",
    "rules on changes (Landlock)",
    "giving up rights",
    "filtering system calls",
    "closing files",
];
const GROUP: usize = 0;
const NAMESPACES: usize = 1;
const USER: usize = 2;
const PROCESS: usize = 3;
const PRIVATE: usize = 4;
const ROOT: usize = 5;
const LOOPBACK: usize = 6;
const LISTENER: usize = 7;
const START: usize = 8;
const LIMITS: usize = 9;
const LANDLOCK: usize = 10;
const RIGHTS: usize = 11;
const FILTER: usize = 12;
const FILES: usize = 13;
/// Steps come after parts.
const STEPS: usize = 100;

struct Failed {
    part: usize,
    errno: i32,
}

type Done = Result<(), Failed>;

/// What the child needs, and keeps open until it has become the program.
struct Context {
    prepared: PreparedView,
    report: OwnedFd,
    life: OwnedFd,
    handing: Option<OwnedFd>,
}

/// Starts a program.
pub(crate) fn spawn(prepared: PreparedView, mut command: Command) -> Result<RunningProgram, ViewError> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed("a pipe", errno.into()));
    let (told, report) = pipe()?;
    let (life, kept) = pipe()?;
    let pair = prepared.port.map(|_| {
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        pair.map_err(|errno| failed("a pair of sockets", errno.into()))
    });
    let (taking, handing) = pair.transpose()?.unzip();
    let shown: Vec<String> = prepared.steps.iter().map(|step| step.shown(&prepared.root)).collect();
    let context = Context { prepared, report, life, handing };
    // SAFETY: what runs in the child makes system calls only, on memory that was made ready before; see above.
    unsafe {
        command.pre_exec(move || {
            enter(&context).map_err(|failed| {
                let told = [i32::try_from(failed.part).unwrap_or(i32::MAX), failed.errno];
                // Nothing can be done if nobody reads it.
                libc::write(context.report.as_raw_fd(), told.as_ptr().cast(), size_of_val(&told));
                io::Error::from_raw_os_error(failed.errno)
            })
        });
    }
    let spawned = command.spawn();
    // With it goes what the child was given: nobody but the keeper has the other end of its life any more.
    drop(command);
    let child = spawned.map_err(|source| match read_report(&told) {
        Some((part, _)) => {
            let step = part.checked_sub(STEPS).and_then(|step| shown.get(step)).map(String::as_str);
            failed(step.or_else(|| PARTS.get(part).copied()).unwrap_or("an unknown step"), source)
        }
        None => ViewError::Start(source),
    })?;
    let mut running = RunningProgram::new(child, kept, None);
    running.listener = taking.map(|socket| take(&socket)).transpose()?;
    Ok(running)
}

fn read_report(told: &OwnedFd) -> Option<(usize, i32)> {
    let mut bytes = [0_u8; 8];
    let read = rustix::io::read(told, &mut bytes).ok()?;
    let [a, b, c, d, e, f, g, h] = bytes;
    let part = usize::try_from(i32::from_ne_bytes([a, b, c, d])).ok()?;
    (read == bytes.len()).then(|| (part, i32::from_ne_bytes([e, f, g, h])))
}

/// Takes the socket that listens in the view.
fn take(socket: &OwnedFd) -> Result<TcpListener, ViewError> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8];
    let got = recvmsg(socket, &mut [io::IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC);
    got.map_err(|errno| failed(PARTS[LISTENER], errno.into()))?;
    let handed = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handles) => handles.next(),
        _ => None,
    });
    let lost = || failed(PARTS[LISTENER], io::Error::other("it was not handed on"));
    handed.map(TcpListener::from).ok_or_else(lost)
}

fn errno() -> i32 {
    // SAFETY: the place is this thread's own.
    unsafe { *libc::__errno_location() }
}

fn check(part: usize, result: c_long) -> Result<c_long, Failed> {
    if result < 0 { Err(Failed { part, errno: errno() }) } else { Ok(result) }
}

/// In the process that was forked. Returns in the program only: the keeper and the view's first process end here.
fn enter(context: &Context) -> Done {
    let prepared = &context.prepared;
    namespaces(prepared)?;
    let mut status = [0; 2];
    // SAFETY: there is room for two numbers; the others take none but numbers.
    let (own, first) = unsafe {
        check(PROCESS, libc::pipe2(status.as_mut_ptr(), libc::O_CLOEXEC).into())?;
        let own = check(PROCESS, libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0))?;
        (own, libc::fork())
    };
    let own = c_int::try_from(own).unwrap_or(-1);
    match first {
        -1 => Err(Failed { part: PROCESS, errno: errno() }),
        0 => first_process(context, own, status[1]),
        first => keep(first, context.life.as_raw_fd(), status[0]),
    }
}

/// Joins the control groups, and leaves everybody's namespaces.
fn namespaces(prepared: &PreparedView) -> Done {
    for group in &prepared.groups {
        // SAFETY: one letter is written: whoever writes it joins.
        check(GROUP, unsafe { libc::write(group.as_raw_fd(), c"0".as_ptr().cast(), 1) } as c_long)?;
    }
    // SAFETY: it takes a number.
    check(NAMESPACES, unsafe { libc::unshare(prepared.namespaces) }.into())?;
    if let Some((user, group)) = &prepared.user {
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", user)?;
        write_file(c"/proc/self/gid_map", group)?;
    }
    Ok(())
}

fn write_file(path: &std::ffi::CStr, content: &[u8]) -> Done {
    // SAFETY: the path ends with a NUL and the content is as long as is said.
    unsafe {
        let file = check(USER, libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC).into())?;
        let file = c_int::try_from(file).unwrap_or(-1);
        let written = check(USER, libc::write(file, content.as_ptr().cast(), content.len()) as c_long);
        libc::close(file);
        written.map(drop)
    }
}

/// The keeper: waits for the end of the view, or of us, and ends as the program did when nothing is left of the view.
fn keep(first: libc::pid_t, life: RawFd, status: RawFd) -> ! {
    // SAFETY: numbers and places on this stack; no memory of anybody else is touched.
    unsafe {
        // It has a copy of our memory: nobody may look into it.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::setsid();
        default_signals();
        libc::dup2(life, 0);
        libc::dup2(status, 1);
        libc::syscall(libc::SYS_close_range, 2_u32, u32::MAX, 0_u32);
        let mut ended: c_int = 0;
        let mut is_told = false;
        let mut waits = [
            libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: 1, events: libc::POLLIN, revents: 0 },
        ];
        loop {
            if libc::poll(waits.as_mut_ptr(), 2, -1) < 0 {
                continue;
            }
            if waits[1].revents != 0 {
                let read = libc::read(1, (&raw mut ended).cast(), size_of::<c_int>());
                is_told = read == size_of::<c_int>() as isize;
                break;
            }
            if waits[0].revents != 0 {
                libc::kill(first, libc::SIGKILL);
                break;
            }
        }
        let mut first_ended: c_int = 0;
        // The first process of a view is gone when everything in the view is.
        while libc::waitpid(first, &raw mut first_ended, 0) < 0 && errno() == libc::EINTR {}
        end_like(if is_told { ended } else { first_ended })
    }
}

/// Ends this process as another one did.
fn end_like(status: c_int) -> ! {
    // SAFETY: it ends here.
    unsafe {
        if libc::WIFEXITED(status) {
            libc::_exit(libc::WEXITSTATUS(status));
        }
        let signal = libc::WTERMSIG(status);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::kill(libc::getpid(), signal);
        libc::_exit(128 + signal)
    }
}

/// Handlers of ours mean nothing here.
fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: no handler is set. Some signals cannot be, and stay as they are.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The first process of the view. Makes the tree, starts the program, and ends when that does.
fn first_process(context: &Context, keeper: c_int, status: c_int) -> Done {
    let prepared = &context.prepared;
    // SAFETY: numbers, and places on this stack.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Had the keeper ended before that was set, nobody would tell.
        let mut gone = libc::pollfd { fd: keeper, events: libc::POLLIN, revents: 0 };
        if libc::poll(&raw mut gone, 1, 0) != 0 {
            libc::_exit(1);
        }
        libc::close(keeper);
    }
    default_signals();
    tree(prepared)?;
    if prepared.has_loopback {
        loopback()?;
    }
    if let (Some(port), Some(handing)) = (prepared.port, &context.handing) {
        listen(port, handing.as_raw_fd())?;
    }
    // SAFETY: numbers.
    let program = unsafe {
        // It has a copy of our memory: nothing in the view may look into it.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::fork()
    };
    match program {
        -1 => Err(Failed { part: PROCESS, errno: errno() }),
        0 => become_program(prepared),
        program => reap(program, status),
    }
}

fn tree(prepared: &PreparedView) -> Done {
    let nothing = std::ptr::null();
    // SAFETY: every path ends with a NUL and outlives the call, here and below.
    unsafe {
        let private =
            libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_PRIVATE, nothing.cast());
        check(PRIVATE, private.into())?;
    }
    // What was asked for has the modes that were asked for.
    // SAFETY: it takes a number.
    let mask = unsafe { libc::umask(0o022) };
    for (number, step) in prepared.steps.iter().enumerate() {
        make(step, STEPS + number)?;
    }
    // SAFETY: as above.
    unsafe {
        libc::umask(mask);
        check(ROOT, libc::chdir(prepared.root.as_ptr()).into())?;
        // The old root comes to lie on the new one, and goes.
        check(ROOT, libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        check(ROOT, libc::umount2(c".".as_ptr(), libc::MNT_DETACH).into())?;
        check(ROOT, libc::chdir(c"/".as_ptr()).into()).map(drop)
    }
}

fn make(step: &MountStep, part: usize) -> Done {
    let nothing = std::ptr::null();
    // SAFETY: every path ends with a NUL and outlives the call; the attributes are as long as is said.
    unsafe {
        let result: c_long = match step {
            // Where it is already, or is shown by a mount, what comes next will say whether it will do.
            MountStep::Folder(at) => {
                libc::mkdir(at.as_ptr(), 0o755);
                0
            }
            MountStep::File(at) => {
                let file = libc::open(at.as_ptr(), libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o644);
                if file >= 0 {
                    libc::close(file);
                }
                0
            }
            MountStep::Link { at, to } => libc::symlink(to.as_ptr(), at.as_ptr()).into(),
            MountStep::Bind { from, at } => {
                let flags = libc::MS_BIND | libc::MS_REC;
                libc::mount(from.as_ptr(), at.as_ptr(), nothing, flags, nothing.cast()).into()
            }
            MountStep::Restrict { at, attributes, is_recursive } => {
                let attributes =
                    libc::mount_attr { attr_set: *attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
                let flags = if *is_recursive { libc::AT_RECURSIVE } else { 0 };
                libc::syscall(
                    libc::SYS_mount_setattr,
                    libc::AT_FDCWD,
                    at.as_ptr(),
                    flags,
                    &raw const attributes,
                    size_of_val(&attributes),
                )
            }
            MountStep::Mount { kind, at, flags, options } => {
                libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), *flags, options.as_ptr().cast()).into()
            }
        };
        check(part, result).map(drop)
    }
}

/// Brings up the loopback: programs that talk to themselves need it.
fn loopback() -> Done {
    // SAFETY: the request is on this stack and is what the kernel expects: all zero is a valid one.
    unsafe {
        let socket =
            check(LOOPBACK, libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).into())?;
        let socket = c_int::try_from(socket).unwrap_or(-1);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        let up = check(LOOPBACK, libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw mut request).into());
        libc::close(socket);
        up.map(drop)
    }
}

/// Makes a socket that listens in the view, and hands it out: it stays in the view's network wherever it is used.
fn listen(port: u16, handing: RawFd) -> Done {
    // SAFETY: addresses and messages are on this stack, as long as is said, and aligned as their types are.
    unsafe {
        let socket =
            check(LISTENER, libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0).into())?;
        let socket = c_int::try_from(socket).unwrap_or(-1);
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let size = size_of_val(&address) as libc::socklen_t;
        check(LISTENER, libc::bind(socket, (&raw const address).cast(), size).into())?;
        check(LISTENER, libc::listen(socket, 128).into())?;
        #[repr(C, align(8))]
        struct Control([u8; 64]);
        let mut control = Control([0; 64]);
        let mut byte = 0_u8;
        let mut content = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut content;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() {
            return Err(Failed { part: LISTENER, errno: libc::EINVAL });
        }
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast(), socket);
        check(LISTENER, libc::sendmsg(handing, &raw const message, 0) as c_long)?;
        libc::close(socket);
        Ok(())
    }
}

/// Waits for everything that ends in the view, until the program does.
fn reap(program: libc::pid_t, status: c_int) -> ! {
    // SAFETY: numbers, and places on this stack.
    unsafe {
        libc::dup2(status, 0);
        libc::syscall(libc::SYS_close_range, 1_u32, u32::MAX, 0_u32);
        loop {
            let mut ended: c_int = 0;
            let process = libc::waitpid(-1, &raw mut ended, 0);
            if process == program {
                libc::write(0, (&raw const ended).cast(), size_of::<c_int>());
                libc::_exit(0);
            }
            if process < 0 && errno() != libc::EINTR {
                libc::_exit(1);
            }
        }
    }
}

/// What is left before the program: limits, rules, rights.
fn become_program(prepared: &PreparedView) -> Done {
    // SAFETY: paths end with a NUL and outlive the calls; structures are on this stack or in what was made ready.
    unsafe {
        libc::setsid();
        check(START, libc::chdir(prepared.start.as_ptr()).into())?;
        for (resource, most) in &prepared.limits {
            limit(*resource, *most)?;
        }
        check(RIGHTS, libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        rules_on_changes(prepared)?;
        give_up_rights(prepared.rights)?;
        let on_exec: c_ulong = libc::CLOSE_RANGE_CLOEXEC.into();
        check(FILES, libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, on_exec))?;
        for filter in &prepared.filters {
            let program = libc::sock_fprog {
                len: u16::try_from(filter.len()).unwrap_or(u16::MAX),
                filter: filter.as_ptr().cast_mut(),
            };
            const FILTER_MODE: c_ulong = libc::SECCOMP_SET_MODE_FILTER as c_ulong;
            check(FILTER, libc::syscall(libc::SYS_seccomp, FILTER_MODE, 0_u32, &raw const program))?;
        }
    }
    Ok(())
}

fn limit(resource: u32, most: u64) -> Done {
    let mut whole = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the structure is on this stack.
    unsafe {
        let mut own = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        check(LIMITS, libc::getrlimit(resource as _, &raw mut own).into())?;
        // The limit we have ourselves may be lower than the one asked for: then that one holds.
        if own.rlim_max < most {
            whole = libc::rlimit { rlim_cur: own.rlim_max, rlim_max: own.rlim_max };
        }
        check(LIMITS, libc::setrlimit(resource as _, &raw const whole).into()).map(drop)
    }
}

/// The second wall: whatever the mounts say, nothing is changed elsewhere.
fn rules_on_changes(prepared: &PreparedView) -> Done {
    if prepared.changes == 0 {
        return Ok(());
    }
    #[repr(C, packed)]
    struct Beneath {
        access: u64,
        folder: i32,
    }
    const PATH_BENEATH: c_ulong = 1;
    // SAFETY: the structures are the kernel's, on this stack, and as long as is said.
    unsafe {
        let handled = prepared.changes;
        let rules = check(
            LANDLOCK,
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size_of::<u64>(), 0_u32),
        )?;
        for path in &prepared.changeable {
            let folder = libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
            check(LANDLOCK, folder.into())?;
            let beneath = Beneath { access: handled, folder };
            let added =
                libc::syscall(libc::SYS_landlock_add_rule, rules, PATH_BENEATH, &raw const beneath, 0_u32);
            check(LANDLOCK, added)?;
            libc::close(folder);
        }
        check(LANDLOCK, libc::syscall(libc::SYS_landlock_restrict_self, rules, 0_u32))?;
        libc::close(c_int::try_from(rules).unwrap_or(-1));
    }
    Ok(())
}

/// Keeps these rights and gives up all others, for good.
fn give_up_rights(kept: u64) -> Done {
    #[repr(C)]
    struct Header {
        version: u32,
        process: c_int,
    }
    #[repr(C)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    // SAFETY: the structures are the kernel's, on this stack.
    unsafe {
        for right in 0..64_u64 {
            if kept & (1 << right) == 0 && libc::prctl(libc::PR_CAPBSET_READ, right, 0, 0, 0) == 1 {
                check(RIGHTS, libc::prctl(libc::PR_CAPBSET_DROP, right, 0, 0, 0).into())?;
            }
        }
        let header = Header { version: VERSION_3, process: 0 };
        let half = |shift: u32| {
            let rights = (kept >> shift) as u32;
            Data { effective: rights, permitted: rights, inheritable: 0 }
        };
        let data = [half(0), half(32)];
        check(RIGHTS, libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr())).map(drop)
    }
}
