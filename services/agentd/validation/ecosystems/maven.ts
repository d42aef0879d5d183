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
  const skipping = new Map<string, string>();
  for (const folder of folders) {
    const named = skippedBy(await files.text(posix.join(folder, 'pom.xml')));
    if (named !== null) skipping.set(folder, named);
  }
  const isModule = new Set([...modules.values()].flat());
  const roots = folders.filter((folder) => !isModule.has(folder));
  return roots.map((folder) => {
    const except = roots.filter((other) => isBelow(other, folder) && nearest(other, roots) === folder);
    const own = folders.filter((one) => one === folder || nearest(one, roots) === folder);
    const skipped = own.filter((one) => skipping.has(one));
    const links = `cp -rs ${cache}/m2 "$TMPDIR/m2"`;
    const resolve = `mvn -B -Dmaven.repo.local=${cache}/m2 -Dmaven.test.failure.ignore=true test`;
    const test = `${links} && mvn -B -o -Dmaven.repo.local="$TMPDIR/m2" test`;
    return {
      name: 'maven',
      folder,
      found: [posix.join(folder, 'pom.xml')],
      prepare: [{ name: 'resolve', run: inFolder(folder, resolve) }],
      prepared_paths: [cacheOf(folder)],
      lockfiles: own.map((one) => posix.join(one, 'pom.xml')),
      tests: [
        {
          run: inFolder(folder, test),
          covers: [
            {
              folder,
              except: [...except, ...skipped.filter((one) => one !== folder)],
              files: skipped.includes(folder) ? [] : ['java', 'resource'],
            },
          ],
        },
      ],
      without_tests: skipped.map((one) => ({
        folder: one,
        files: ['java', 'resource'],
        why: `${posix.join(one, 'pom.xml')} skips its tests (${skipping.get(one)})`,
      })),
    };
  });
}

/** Name of the setting by which a pom.xml skips tests without being asked for a profile; modules inherit it. */
function skippedBy(text: string): string | null {
  return (
    /<(maven\.test\.skip|skipTests|maven\.test\.skip\.exec)>\s*true\s*</.exec(withoutProfiles(text))?.[1] ??
    null
  );
}

function withoutProfiles(text: string): string {
  return text.replace(/<!--.*?-->/gs, '').replace(/<profiles>.*?<\/profiles>/gs, '');
}

/** Folders of the modules that Maven builds without being asked for a profile. */
function modulesOf(text: string, folder: string): string[] {
  return [...withoutProfiles(text).matchAll(/<module>\s*([^<]+?)\s*<\/module>/g)].map(([, path]) => {
    const module = posix.join(folder, path!);
    return (path!.endsWith('.xml') ? folderOf(module) : module).replace(/^\.$|\/$/, '');
  });
}
