import { type DockerOptions, docker, dockerDone } from '../../fixtures/containers/docker.ts';

export interface HostOptions {
  readonly project: string;
  /** Its copy of the project, with `.env`, `secrets/` and its configuration. */
  readonly folder: string;
  readonly files: readonly string[];
  readonly services: readonly string[];
  /** Its address to the others. */
  readonly address: string;
  /** Ports of its loopback interface, by the port that the proxy on it has. */
  readonly published: ReadonlyMap<number, number>;
  readonly environment: Readonly<Record<string, string>>;
}

/** A host of the guide: a compose project that others reach by its address alone, through the proxy that ends TLS there. */
export class Host {
  readonly address: string;
  readonly #options: HostOptions;

  constructor(options: HostOptions) {
    this.#options = options;
    this.address = options.address;
  }

  async up(): Promise<void> {
    await this.compose(['up', '--detach', '--wait', '--quiet-pull', ...this.#options.services]).catch(
      async (error) => {
        const { stdout } = await docker(this.#args(['logs', '--tail', '20']), this.#docker());
        throw new Error(`${error.message}\n${stdout}`, { cause: error });
      },
    );
  }

  /** As when its power is cut: no container ends in order. */
  async kill(...services: readonly string[]): Promise<void> {
    await this.compose(['kill', ...services]);
  }

  /** @throws where it does not end with 0 */
  compose(args: readonly string[]): Promise<string> {
    return dockerDone(this.#args(args), this.#docker());
  }

  /** One command line in its tools container. @throws where it does not end with 0 */
  tools(...args: readonly string[]): Promise<string> {
    return this.compose(['run', '--rm', '-T', 'tools', ...args]);
  }

  /** What the proxy on it has in place of the guide's: its address, and where its ports are published. */
  proxy(example: string): string {
    const ports = [...this.#options.published].map(([port, own]) => `${port} ${own};`).join(' ');
    const map = `map $server_port $core_published { ${ports} }`;
    const text = example
      .replaceAll('10.0.0.1:', `${this.address}:`)
      .replace('http://127.0.0.1:$server_port', 'http://127.0.0.1:$core_published');
    return `${map}\n${text}`;
  }

  #args(args: readonly string[]): string[] {
    const { project, files } = this.#options;
    return ['compose', '--project-name', project, ...files.flatMap((file) => ['--file', file]), ...args];
  }

  #docker(): DockerOptions {
    const { folder: cwd, environment } = this.#options;
    return { cwd, env: environment };
  }
}
