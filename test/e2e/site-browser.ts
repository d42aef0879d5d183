import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { atExit } from '../fixtures/at-exit.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { saidUntil } from './said-until.ts';

/** A headless Chromium with one page, spoken to in its DevTools protocol. */
export interface Browser {
  /** Shows an address at a width; resolves when the page is loaded and its fonts are there. */
  show(url: string, view: { readonly width: number; readonly dark?: boolean }): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: pages give values of every shape
  evaluate(expression: string): Promise<any>;
  /** PNG. */
  screenshot(whole?: boolean): Promise<Buffer>;
  /** Errors of the console and of scripts, and requests that failed, since the last `show`. */
  problems(): readonly string[];
  /** Addresses that pages asked for, since the last `show`. */
  requests(): readonly string[];
  close(): Promise<void>;
}

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--hide-scrollbars',
  '--remote-debugging-port=0',
];

const readyPage = `new Promise((resolve) => {
  const look = () =>
    document.readyState === 'complete' && document.querySelector('#app')?.__vue_app__
      ? document.fonts.ready.then(() => requestAnimationFrame(resolve))
      : setTimeout(look, 20);
  look();
})`;

export async function openBrowser(): Promise<Browser> {
  const child = spawn('chromium', [...flags, `--user-data-dir=${temporaryFolder()}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  atExit(() => child.kill('SIGKILL'));
  const [, debuggerAddress] = await saidUntil(child, /DevTools listening on (ws:\S+)/);
  const connection = await connect(debuggerAddress!);
  const { targetInfos } = await connection.send('Target.getTargets');
  const page = targetInfos.find(({ type }: { type: string }) => type === 'page');
  const { sessionId } = await connection.send('Target.attachToTarget', {
    targetId: page.targetId,
    flatten: true,
  });
  const send = (method: string, params: object = {}) => connection.send(method, params, sessionId);
  let problems: string[] = [];
  let requests: string[] = [];
  connection.listen((method, params) => {
    if (method === 'Runtime.exceptionThrown')
      problems.push(params.exceptionDetails.exception?.description ?? 'exception');
    if (method === 'Runtime.consoleAPICalled' && params.type === 'error')
      problems.push(params.args.map(({ value }: { value: unknown }) => value).join(' '));
    if (method === 'Log.entryAdded' && params.entry.level === 'error') problems.push(params.entry.text);
    if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
  });
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(`${domain}.enable`);

  async function evaluate(expression: string): Promise<unknown> {
    const answer = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (answer.exceptionDetails !== undefined)
      throw new Error(answer.exceptionDetails.exception?.description);
    return answer.result.value;
  }

  return {
    async show(url, { width, dark = false }) {
      problems = [];
      requests = [];
      await send('Emulation.setDeviceMetricsOverride', {
        width,
        height: 900,
        deviceScaleFactor: 1,
        mobile: width < 600,
      });
      await send('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }],
      });
      await send('Page.navigate', { url });
      // VitePress shows a page before its script runs; the script is what may complain.
      await evaluate(readyPage);
    },
    evaluate,
    async screenshot(whole = false) {
      const { data } = await send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole });
      return Buffer.from(data, 'base64');
    },
    problems: () => problems,
    requests: () => requests,
    async close() {
      const ended = once(child, 'close');
      await connection.send('Browser.close').catch(() => child.kill('SIGKILL'));
      await ended;
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the protocol has hundreds of shapes
type Message = any;

async function connect(address: string) {
  const socket = new WebSocket(address, { maxPayload: 256 * 1024 * 1024 });
  await once(socket, 'open');
  const waiting = new Map<number, { resolve: (result: Message) => void; reject: (error: Error) => void }>();
  const listeners = new Set<(method: string, params: Message) => void>();
  let last = 0;
  socket.on('message', (data) => {
    const { id, method, params, result, error } = JSON.parse(String(data)) as Message;
    if (id === undefined) for (const listener of listeners) listener(method, params);
    else if (error !== undefined) waiting.get(id)?.reject(new Error(error.message));
    else waiting.get(id)?.resolve(result);
    waiting.delete(id);
  });
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('chromium is gone'));
  });
  return {
    listen: (listener: (method: string, params: Message) => void) => void listeners.add(listener),
    send(method: string, params: object = {}, sessionId?: string): Promise<Message> {
      const id = ++last;
      socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    },
  };
}
