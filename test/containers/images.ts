import { expect } from 'chai';
import { dockerDone } from '../fixtures/containers/docker.ts';
import { type ContainerStack, imageName } from './stack/container-stack.ts';

const base = 'node:24-bookworm-slim';
const siteBase = 'nginx:stable-bookworm';
const mostBytes = 120_000_000;

interface Image {
  readonly Size: number;
  readonly Config: {
    readonly User: string;
    readonly Labels: Readonly<Record<string, string>>;
    readonly StopSignal?: string;
    readonly Healthcheck?: { readonly Test: readonly string[] };
    readonly Entrypoint: readonly string[] | null;
  };
}

/** What is true of the images, whatever runs. */
export function imageTests(stack: ContainerStack): void {
  it('has an image for each service: small, for no root, that starts, ends and is asked without a shell', async function () {
    this.timeout(900_000);
    const names = stack.services.map((name) => `${imageName(name)}:${stack.version}`);
    const found: Image[] = JSON.parse(await dockerDone(['image', 'inspect', base, ...names]));
    const [node, ...images] = found as [Image, ...Image[]];
    expect(images).to.have.length(stack.services.length);
    for (const [index, { Size, Config }] of images.entries()) {
      const name = stack.services[index]!;
      expect(Size - node.Size, `${name} above ${base}`).to.be.below(mostBytes);
      expect(Config.User, name).to.equal('node');
      expect(Config.StopSignal, name).to.equal('SIGTERM');
      expect(Config.Entrypoint?.[0], name).to.equal('node');
      expect(Config.Healthcheck?.Test.slice(0, 2), name).to.deep.equal(['CMD', 'node']);
      expect(Config.Labels['org.opencontainers.image.title'], name).to.equal(name);
      expect(Config.Labels['org.opencontainers.image.version'], name).to.match(/^\d+\.\d+\.\d+$/);
    }
  });

  it('has an image for the command lines, as small, with jj and bubblewrap beside git', async function () {
    this.timeout(900_000);
    const names = [base, `${imageName('tools')}:${stack.version}`];
    const [node, { Size, Config }] = JSON.parse(await dockerDone(['image', 'inspect', ...names])) as [
      Image,
      Image,
    ];
    expect(Size - node.Size).to.be.below(mostBytes);
    expect(Config.User).to.equal('node');
    expect(await stack.toolsDone('jj', '--version')).to.match(/^jj 0\.41\.0/);
    expect(await stack.toolsDone('bwrap', '--version')).to.match(/^bubblewrap /);
    expect(await stack.toolsDone('git', '--version')).to.match(/^git version /);
  });

  it('has an image for the documentation, of the same make on nginx', async function () {
    this.timeout(900_000);
    const names = [siteBase, `${imageName('site')}:${stack.version}`];
    const [nginx, { Size, Config }] = JSON.parse(await dockerDone(['image', 'inspect', ...names])) as [
      Image,
      Image,
    ];
    expect(Size - nginx.Size).to.be.below(mostBytes);
    expect(Config.User).to.equal('nginx');
    expect(Config.StopSignal).to.equal('SIGQUIT');
    expect(Config.Entrypoint?.[0]).to.equal('nginx');
    expect(Config.Healthcheck?.Test.slice(0, 2)).to.deep.equal(['CMD', 'perl']);
    expect(Config.Labels['org.opencontainers.image.title']).to.equal('core-site');
  });

  it('gives the documentation on port 80 of its container: pages with and without .html, and a page for what is missing', async () => {
    const url = stack.url('site', 80);
    for (const path of ['/', '/docker', '/docker.html', '/reference/settings']) {
      const page = await fetch(url + path);
      expect(page.status, path).to.equal(200);
      expect(page.headers.get('content-type'), path).to.equal('text/html; charset=utf-8');
      const [script] = /\/assets\/app[^"]+\.js/.exec(await page.text()) ?? [''];
      const loaded = await fetch(url + script);
      expect(loaded.headers.get('content-type'), path).to.contain('application/javascript');
    }
    const missing = await fetch(`${url}/no-such-page`);
    expect(missing.status).to.equal(404);
    expect(await missing.text()).to.contain('<title>404 | Core</title>');
  });

  it('ends on SIGTERM at once and with 0, as each service does', async function () {
    this.timeout(900_000);
    await stack.container('core-model-gateway').stop({ timeout: 60_000, remove: false });
    expect((await stack.inspect('core-model-gateway')).State.ExitCode).to.equal(0);
    await stack.up();
  });
}
