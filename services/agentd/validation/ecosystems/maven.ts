import { posix } from 'node:path';
import {
  cache,
  cacheOf,
  type Files,
  folderOf,
  foldersWith,
  inFolder,
  isBelow,
  nearest,
  type Project,
} from './project.ts';

/**
 * Maven resolves the plugins of a goal only by running it, so that preparing runs the base's own tests, and what they say does
 * not count. The run works on links into the prepared repository, because Maven writes notes beside what it reads.
 */
export async function detectMaven(files: Files): Promise<Project[]> {
  const folders = foldersWith(files, 'pom.xml');
  const modules = new Map<string, readonly string[]>();
  for (const folder of folders)
    modules.set(folder, modulesOf(await files.text(posix.join(folder, 'pom.xml')), folder));
  const isModule = new Set([...modules.values()].flat());
  const roots = folders.filter((folder) => !isModule.has(folder));
  return roots.map((folder) => {
    const except = roots.filter((other) => isBelow(other, folder) && nearest(other, roots) === folder);
    const links = `cp -rs ${cache}/m2 "$TMPDIR/m2"`;
    const resolve = `mvn -B -Dmaven.repo.local=${cache}/m2 -Dmaven.test.failure.ignore=true test`;
    const test = `${links} && mvn -B -o -Dmaven.repo.local="$TMPDIR/m2" test`;
    return {
      name: 'maven',
      folder,
      found: [posix.join(folder, 'pom.xml')],
      prepare: [{ name: 'resolve', run: inFolder(folder, resolve) }],
      prepared_paths: [cacheOf(folder)],
      lockfiles: folders
        .filter((one) => one === folder || nearest(one, roots) === folder)
        .map((one) => posix.join(one, 'pom.xml')),
      tests: [{ run: inFolder(folder, test), covers: [{ folder, except, files: ['java', 'resource'] }] }],
      without_tests: [],
    };
  });
}

/** Folders of the modules that Maven builds without being asked for a profile. */
function modulesOf(text: string, folder: string): string[] {
  const own = text.replace(/<!--.*?-->/gs, '').replace(/<profiles>.*?<\/profiles>/gs, '');
  return [...own.matchAll(/<module>\s*([^<]+?)\s*<\/module>/g)].map(([, path]) => {
    const module = posix.join(folder, path!);
    return (path!.endsWith('.xml') ? folderOf(module) : module).replace(/^\.$|\/$/, '');
  });
}
