import { posix } from 'node:path';
import {
  cache,
  cacheOf,
  type Files,
  foldersWith,
  inFolder,
  isBelow,
  nearest,
  type Project,
  present,
  type WithoutTests,
} from './project.ts';

const settingsNames = ['settings.gradle', 'settings.gradle.kts'];
const buildNames = ['build.gradle', 'build.gradle.kts'];
const lockNames = [
  'gradle/wrapper/gradle-wrapper.properties',
  'gradle/libs.versions.toml',
  'gradle.properties',
  'gradle.lockfile',
];

/**
 * A build with its included subprojects is one project. Gradle resolves what tests need only by running them, as Maven, and writes
 * into its home, so that the run works on a copy.
 */
export async function detectGradle(files: Files): Promise<Project[]> {
  const folders = foldersWith(files, ...settingsNames, ...buildNames).filter(
    (folder) => !files.has(posix.join(folder, 'pom.xml')),
  );
  const withSettings = folders.filter((folder) => present(files, folder, settingsNames).length > 0);
  const roots = folders.filter(
    (folder) => withSettings.includes(folder) || nearest(folder, withSettings) === undefined,
  );
  const projects: Project[] = [];
  for (const folder of roots.filter(
    (one) => withSettings.includes(one) || nearest(one, roots) === undefined,
  )) {
    const nested = roots.filter(
      (other) => withSettings.includes(other) && nearest(other, withSettings) === folder,
    );
    const subprojects = folders.filter(
      (one) => !roots.includes(one) && nearest(one, withSettings) === folder,
    );
    const included = await includedIn(files, folder);
    const without_tests = subprojects
      .filter((one) => included !== null && !included.has(one))
      .map(
        (one): WithoutTests => ({
          folder: one,
          files: ['java'],
          why: `${one} is not included in ${present(files, folder, settingsNames)[0]}`,
        }),
      );
    const gradle = `${files.has(posix.join(folder, 'gradlew')) ? './gradlew' : 'gradle'} --no-daemon`;
    const lenient = `printf 'allprojects { tasks.withType(Test) { ignoreFailures = true } }' > "$TMPDIR/core.gradle"`;
    const resolve = `${lenient} && GRADLE_USER_HOME=${cache}/gradle ${gradle} -I "$TMPDIR/core.gradle" test`;
    const copy = `cp -r ${cache}/gradle "$TMPDIR/gradle"`;
    const test = `${copy} && GRADLE_USER_HOME="$TMPDIR/gradle" ${gradle} --offline --continue test`;
    const builds = [folder, ...subprojects].flatMap((one) =>
      present(files, one, [...settingsNames, ...buildNames]),
    );
    projects.push({
      name: 'gradle',
      folder,
      found: [[...present(files, folder, buildNames), ...present(files, folder, settingsNames)][0]!],
      prepare: [{ name: 'resolve', run: inFolder(folder, resolve) }],
      prepared_paths: [cacheOf(folder)],
      lockfiles: [...builds, ...present(files, folder, lockNames)],
      tests: [
        {
          run: inFolder(folder, test),
          covers: [
            {
              folder,
              except: [...nested, ...without_tests.map((one) => one.folder)].filter((one) =>
                isBelow(one, folder),
              ),
              files: ['java', 'resource'],
            },
          ],
        },
      ],
      without_tests,
    });
  }
  return projects;
}

/** Folders of the included subprojects; null where the settings compute them. */
async function includedIn(files: Files, folder: string): Promise<Set<string> | null> {
  const path = present(files, folder, settingsNames)[0];
  if (path === undefined) return new Set();
  const text = (await files.text(path)).replace(/\/\*.*?\*\/|\/\/.*$/gms, '');
  if (/projectDir/.test(text)) return null;
  const included = new Set<string>();
  for (const [, list] of text.matchAll(/^[ \t]*include\b[ \t]*\(?((?:[^()\n]|,\s*\n)*)/gm)) {
    const names = list!.split(',').map((name) => /^\s*(["'])([^"'$]+)\1\s*$/.exec(name)?.[2]);
    if (names.includes(undefined)) return null;
    for (const name of names)
      included.add(posix.join(folder, ...name!.split(':').filter((part) => part !== '')));
  }
  // Each include inside a loop or a condition is computed too.
  if (/[^\w.]include\b/.test(text.replace(/^[ \t]*include\b/gm, ''))) return null;
  return included;
}
