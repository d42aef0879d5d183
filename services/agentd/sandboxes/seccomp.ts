/**
 * A seccomp filter (classic BPF, see seccomp(2)) against system calls that a build or a test never needs and that lead to the
 * kernel's own interfaces or out of namespaces: what Docker's default profile denies, and sockets that leave the network namespace.
 */
interface Machine {
  /** AUDIT_ARCH_…, from linux/audit.h. */
  readonly audit: number;
  /** Numbers from here on belong to another calling convention of the same machine (x32). */
  readonly foreignFrom: number | null;
  /** Which number of a row is this machine's. */
  readonly column: 1 | 2;
}

const machines: Readonly<Record<string, Machine>> = {
  x64: { audit: 0xc000003e, foreignFrom: 0x40000000, column: 1 },
  arm64: { audit: 0xc00000b7, foreignFrom: null, column: 2 },
};

/** Name and number on x64 and arm64; null where the machine has no such call. */
type SystemCall = readonly [name: string, x64: number | null, arm64: number | null];

const forbidden: readonly SystemCall[] = [
  // Keyrings belong to the user, not to a namespace.
  ['add_key', 248, 217],
  ['request_key', 249, 218],
  ['keyctl', 250, 219],
  // Programs and counters inside the kernel.
  ['bpf', 321, 280],
  ['perf_event_open', 298, 241],
  ['userfaultfd', 323, 282],
  ['lookup_dcookie', 212, 18],
  ['kcmp', 312, 272],
  ['pidfd_getfd', 438, 438],
  ['syslog', 103, 116],
  // Another kernel, or more of this one.
  ['kexec_load', 246, 104],
  ['kexec_file_load', 320, 294],
  ['create_module', 174, null],
  ['init_module', 175, 105],
  ['finit_module', 313, 273],
  ['delete_module', 176, 106],
  ['get_kernel_syms', 177, null],
  ['query_module', 178, null],
  ['reboot', 169, 142],
  // Mounts and namespaces.
  ['mount', 165, 40],
  ['umount2', 166, 39],
  ['pivot_root', 155, 41],
  ['chroot', 161, 51],
  ['setns', 308, 268],
  ['unshare', 272, 97],
  ['open_tree', 428, 428],
  ['move_mount', 429, 429],
  ['fsopen', 430, 430],
  ['fsconfig', 431, 431],
  ['fsmount', 432, 432],
  ['fspick', 433, 433],
  ['mount_setattr', 442, 442],
  ['open_tree_attr', 467, 467],
  ['open_by_handle_at', 304, 265],
  ['quotactl', 179, 60],
  ['quotactl_fd', 443, 443],
  ['swapon', 167, 224],
  ['swapoff', 168, 225],
  ['acct', 163, 89],
  ['nfsservctl', 180, 42],
  ['sysfs', 139, null],
  ['ustat', 136, null],
  ['uselib', 134, null],
  ['_sysctl', 156, null],
  ['vhangup', 153, 58],
  // The clock and the ports of the machine.
  ['settimeofday', 164, 170],
  ['clock_settime', 227, 112],
  ['clock_adjtime', 305, 266],
  ['ioperm', 173, null],
  ['iopl', 172, null],
];

/** Their arguments cannot be inspected. Programs take ENOSYS as an older kernel and use what came before. */
const absent: readonly SystemCall[] = [
  ['clone3', 435, 435],
  ['io_uring_setup', 425, 425],
  ['io_uring_enter', 426, 426],
  ['io_uring_register', 427, 427],
];

const clone: SystemCall = ['clone', 56, 220];
const ioctl: SystemCall = ['ioctl', 16, 29];
const sockets: readonly SystemCall[] = [
  ['socket', 41, 198],
  ['socketpair', 53, 199],
];

/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, which asks for addresses; every other family, AF_VSOCK to the host first, is denied. */
const socketFamilies = [1, 2, 10, 16];

const CLONE_NEWUSER = 0x10000000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_OR_EQUAL = 0x35;
const JUMP_BITS_SET = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const EPERM = 0x00050000 | 1;
const ENOSYS = 0x00050000 | 38;
const EAFNOSUPPORT = 0x00050000 | 97;

/** Offsets in struct seccomp_data; of an argument the low half, both machines being little-endian. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const ARGUMENT = [16, 24];

/** The filter as bwrap's `--seccomp` reads it; null on machines whose call numbers are not listed here. */
export function seccompFilter(architecture: string = process.arch): Uint8Array | null {
  const machine = machines[architecture];
  if (!machine) return null;
  const { foreignFrom, column } = machine;
  const numbers = (calls: readonly SystemCall[]) =>
    calls.map((call) => call[column]).filter((number) => number !== null);
  return assemble([
    [LOAD, 0, 0, ARCHITECTURE],
    [JUMP_EQUAL, 1, 0, machine.audit],
    [RETURN, 0, 0, ENOSYS],
    [LOAD, 0, 0, NUMBER],
    ...(foreignFrom === null ? [] : when(JUMP_GREATER_OR_EQUAL, foreignFrom, ENOSYS)),
    ...numbers(forbidden).flatMap((call) => when(JUMP_EQUAL, call, EPERM)),
    ...numbers(absent).flatMap((call) => when(JUMP_EQUAL, call, ENOSYS)),
    ...numbers([clone]).flatMap((call) => whenArgument(call, 0, when(JUMP_BITS_SET, CLONE_NEWUSER, EPERM))),
    ...numbers([ioctl]).flatMap((call) =>
      whenArgument(call, 1, [...when(JUMP_EQUAL, TIOCSTI, EPERM), ...when(JUMP_EQUAL, TIOCLINUX, EPERM)]),
    ),
    ...numbers(sockets).flatMap((call) => whenArgument(call, 0, unlessEqual(socketFamilies, EAFNOSUPPORT))),
    [RETURN, 0, 0, ALLOW],
  ]);
}

/** Code, instructions to skip when true, when false, operand. */
type Instruction = readonly [number, number, number, number];

function when(jump: number, operand: number, answer: number): Instruction[] {
  return [
    [jump, 0, 1, operand],
    [RETURN, 0, 0, answer],
  ];
}

function unlessEqual(operands: readonly number[], answer: number): Instruction[] {
  const jumps = operands.map(
    (operand, index): Instruction => [JUMP_EQUAL, operands.length - index, 0, operand],
  );
  return [...jumps, [RETURN, 0, 0, answer]];
}

function whenArgument(call: number, argument: number, rules: readonly Instruction[]): Instruction[] {
  return [
    [JUMP_EQUAL, 0, rules.length + 2, call],
    [LOAD, 0, 0, ARGUMENT[argument]!],
    ...rules,
    [RETURN, 0, 0, ALLOW],
  ];
}

function assemble(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, whenTrue, whenFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  }
  return bytes;
}
