import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { docker } from '../../fixtures/containers/docker.ts';

/** 198.18.0.0/15, for benchmarks alone (RFC 2544): Docker takes no subnet there of its own accord. */
const range = { first: numberOf('198.18.0.0'), addresses: 2 ** 17 };
const addressesEach = 16;

interface Span {
  readonly first: number;
  readonly last: number;
}

/**
 * A subnet of 16 addresses for each name, so that the networks of a test take none of the 31 that Docker has by default. Neither Docker
 * nor this machine has a network that overlaps.
 */
export async function chooseSubnets<Name extends string>(
  names: readonly Name[],
): Promise<Record<Name, string>> {
  const taken = [...(await dockersSubnets()), ...ownSubnets()].map(spanOf);
  const most = range.addresses / addressesEach - names.length;
  for (let attempt = 0; attempt < 100; attempt++) {
    const first = range.first + randomInt(most + 1) * addressesEach;
    const last = first + names.length * addressesEach - 1;
    if (taken.some((span) => first <= span.last && span.first <= last)) continue;
    const entries = names.map((name, index) => [name, `${textOf(first + index * addressesEach)}/28`]);
    return Object.fromEntries(entries);
  }
  throw new Error(`no ${names.length} free subnets in 198.18.0.0/15; remove networks: docker network prune`);
}

async function dockersSubnets(): Promise<string[]> {
  const ids = await docker(['network', 'ls', '--quiet']);
  const format = '{{range .IPAM.Config}}{{.Subnet}}\n{{end}}';
  // One that another test removes meanwhile is an error, and the rest is listed.
  const { stdout } = await docker([
    'network',
    'inspect',
    '--format',
    format,
    ...ids.stdout.split('\n').filter(Boolean),
  ]);
  return stdout.split('\n').filter((subnet) => isIPv4Subnet.test(subnet));
}

function ownSubnets(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .flatMap(({ cidr }) => (cidr !== null && isIPv4Subnet.test(cidr) ? [cidr] : []));
}

const isIPv4Subnet = /^\d+\.\d+\.\d+\.\d+\/\d+$/;

function spanOf(subnet: string): Span {
  const [address, length] = subnet.split('/') as [string, string];
  const addresses = 2 ** (32 - Number(length));
  const first = Math.floor(numberOf(address) / addresses) * addresses;
  return { first, last: first + addresses - 1 };
}

function numberOf(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join('.');
}
