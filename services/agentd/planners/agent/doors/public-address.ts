import { BlockList, isIP } from 'node:net';

/**
 * What belongs to this machine, its link, its private network or nobody: RFC 6890 and the registries of special purpose addresses at
 * IANA. 169.254.0.0/16 holds the metadata services of clouds.
 */
const special = new BlockList();
for (const [network, bits] of [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
  ] as const),
  ...([
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.88.99.0', 24],
  ] as const),
  ...([
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
  ] as const),
  ...([
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const),
]) {
  special.addSubnet(network, bits, 'ipv4');
}
// Within what is assigned to the whole network: tunnels that hold an IPv4 address, and documentation.
special.addSubnet('2001::', 23, 'ipv6');
special.addSubnet('2001:db8::', 32, 'ipv6');
special.addSubnet('2002::', 16, 'ipv6');
special.addSubnet('3fff::', 20, 'ipv6');

const assigned = new BlockList();
assigned.addSubnet('2000::', 3, 'ipv6');

/** True for an address of the public network; false for all that is none, and for what is no address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !special.check(address, 'ipv4');
  return version === 6 && assigned.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
