import { posix } from 'node:path';
import {
  type CoveredFolder,
  cache,
  cacheOf,
  type Files,
  foldersWith,
  inFolder,
  isBelow,
  nearest,
  type Project,
  present,
} from './project.ts';

/** `./...` ends where another module begins: each module is tested, those of a workspace by one command. */
export async function detectGo(files: Files): Promise<Project[]> {
  const modules = foldersWith(files, 'go.mod');
  const inner = (folder: string) => modules.filter((other) => isBelow(other, folder));
  const covers = (folder: string): CoveredFolder => ({
    folder,
    except: inner(folder),
    files: ['go', 'resource'],
  });
  const projects: Project[] = [];
  const used = new Set<string>();
  for (const root of foldersWith(files, 'go.work')) {
    const members = modulesOf(await files.text(posix.join(root, 'go.work')), root).filter((one) =>
      modules.includes(one),
    );
    if (members.length === 0) continue;
    for (const member of members) used.add(member);
    const patterns = members.map((one) => `./${posix.join(posix.relative(root, one), '...')}`).join(' ');
    projects.push(await project(files, root, members, 'go.work', patterns, members.map(covers)));
  }
  const workspaces = projects.map(({ folder }) => folder);
  for (const folder of modules.filter((one) => !used.has(one))) {
    const off = nearest(folder, workspaces) !== undefined || workspaces.includes(folder) ? 'GOWORK=off ' : '';
    projects.push(await project(files, folder, [folder], 'go.mod', './...', [covers(folder)], off));
  }
  return projects.toSorted((a, b) => a.folder.localeCompare(b.folder, 'en'));
}

async function project(
  files: Files,
  folder: string,
  modules: readonly string[],
  manifest: string,
  patterns: string,
  covers: readonly CoveredFolder[],
  variables = '',
): Promise<Project> {
  const requires = await Promise.all(
    modules.map(async (one) => /^\s*require\b/m.test(await files.text(posix.join(one, 'go.mod')))),
  );
  const downloads = requires.includes(true) && !files.has(posix.join(folder, 'vendor/modules.txt'));
  const cached = downloads ? `${variables}GOMODCACHE=${cache}/go ` : variables;
  const locks = modules.flatMap((one) => present(files, one, ['go.sum', 'go.mod']));
  return {
    name: 'go',
    folder,
    found: [posix.join(folder, manifest)],
    prepare: downloads
      ? [{ name: 'download', run: inFolder(folder, `${cached}GOFLAGS=-modcacherw go mod download`) }]
      : [],
    prepared_paths: downloads ? [cacheOf(folder)] : [],
    lockfiles: downloads ? [...locks, ...present(files, folder, ['go.work', 'go.work.sum'])] : [],
    tests: [{ run: inFolder(folder, `${cached}GOPROXY=off go test ${patterns}`), covers }],
    without_tests: [],
  };
}

/** Folders that a go.work uses, from the repository's root. */
function modulesOf(text: string, root: string): string[] {
  const lines = text.replace(/\/\/.*$/gm, '');
  const blocks = [...lines.matchAll(/^\s*use\s*\(([^)]*)\)/gm)].flatMap(([, block]) => block!.split('\n'));
  const single = [...lines.matchAll(/^\s*use\s+([^(\s].*)$/gm)].map(([, path]) => path!);
  return [...blocks, ...single]
    .map((path) => path.trim().replace(/^["`]|["`]$/g, ''))
    .filter((path) => path !== '')
    .map((path) => posix.join(root, path).replace(/^\.$|\/$/, ''));
}
