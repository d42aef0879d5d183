/** The address at which to reach what listens there; of every interface, the loopback's. */
export function urlOf({
  host,
  port,
  tls,
}: {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}): string {
  return `${tls ? 'https' : 'http'}://${urlHost(host)}:${port}`;
}

/** Where to reach what listens on every interface. */
export function urlHost(host: string): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' || host === '[::]' ? '::1' : host;
  return reachable.includes(':') && !reachable.startsWith('[') ? `[${reachable}]` : reachable;
}
