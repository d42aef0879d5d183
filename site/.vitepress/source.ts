import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

interface Package {
  readonly version: string;
  readonly repository?: string | { readonly url: string };
}

const described = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Package;

export const version = described.version;

/** Where readers find the source and edit a page; null where nothing says where that is. */
export function sourceLinks(address = sourceAddress()) {
  const web = address === null ? null : webAddress(address);
  if (web === null) return null;
  const edit = new URL(web).hostname === 'github.com' ? 'edit/main' : '_edit/main';
  return { repository: web, editPattern: `${web}/${edit}/site/:path` };
}

/** `repository` of package.json, else the remote `origin` of this checkout. */
function sourceAddress(): string | null {
  const { repository } = described;
  if (repository !== undefined) return typeof repository === 'string' ? repository : repository.url;
  try {
    return execFileSync('git', ['remote', 'get-url', 'origin'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}

/** The page of a repository, of any of git's ways to write its address; no name, password or folder of this machine gets out. */
function webAddress(address: string): string | null {
  const [, host, path] =
    /^(?:git\+)?(?:https?|ssh|git):\/\/(?:[^@/]*@)?([\w.-]+)(?::\d+)?\/(.+?)(?:\.git)?\/?$/.exec(address) ??
    /^(?:[\w.-]+@)([\w.-]+):(.+?)(?:\.git)?\/?$/.exec(address) ??
    [];
  return host === undefined || /^(localhost|127\.)/.test(host) ? null : `https://${host}/${path}`;
}
