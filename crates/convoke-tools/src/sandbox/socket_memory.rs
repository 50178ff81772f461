//! Memory that a command holds in sockets: what was sent and nobody has read is no process's.
//!
//! Counted in the network of the command, which nobody else is in. A socket for paths, of which the kernel does not say how much
//! waits in it, counts with as much as can. In the machine's own network nothing can be counted: it is everybody's.

use std::fs;

/// What a socket holds at most whose buffers nobody has enlarged, with what the kernel needs besides.
const MOST: u64 = 256 << 10;

/// The memory in sockets of the network that a process is in, in bytes, at most.
pub(super) fn memory_in_network_of(process: i32) -> u64 {
    let read = |file: &str| fs::read_to_string(format!("/proc/{process}/net/{file}")).unwrap_or_default();
    let queues: u64 = ["tcp", "tcp6", "udp", "udp6"].iter().map(|file| queued(&read(file))).sum();
    used(&read("sockstat")) * MOST + queues
}

/// How many sockets of any kind there are.
fn used(sockstat: &str) -> u64 {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("sockets: used "));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// What waits in sockets of a kind that the kernel lists, beyond what each is counted with anyway.
fn queued(list: &str) -> u64 {
    let waiting = list.lines().skip(1).filter_map(|line| {
        let (sent, received) = line.split_whitespace().nth(4)?.split_once(':')?;
        let bytes = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
        Some((bytes(sent) + bytes(received)).saturating_sub(MOST))
    });
    waiting.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_lists_is_read() {
        assert_eq!(used("sockets: used 12\nTCP: inuse 3 orphan 0 tw 0 alloc 3 mem 1\n"), 12);
        assert_eq!(used(""), 0);
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n\
                    0: 0100007F:1F90 00000000:0000 01 00100000:00200000 00:00000000 00000000 0 0 1\n";
        assert_eq!(queued(list), (3 << 20) - MOST);
    }
}
