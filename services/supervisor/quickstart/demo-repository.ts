import { git } from '#kit/git/git.ts';
import { makeRepository } from '#kit/git/make-repository.ts';

/** A small library with a bug and a test that finds it. */
const files: Readonly<Record<string, string>> = {
  'package.json': `{
  "name": "hello",
  "version": "1.0.0",
  "type": "module",
  "exports": "./src/greet.js",
  "scripts": { "test": "node --test" }
}
`,
  '.core.json': `{
  "validation": { "commands": [{ "name": "test", "run": "node --test" }] }
}
`,
  'README.md': `# hello

Greets people: \`greet('Ada')\` is \`Hello, Ada!\`.
`,
  '.github/workflows/ci.yml': `on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: npm test
`,
  'src/greet.js': `import { tidy } from './names.js';

/** A greeting for one person. */
export function greet(name) {
  return \`Hello, \${tidy(name)}!\`;
}
`,
  'src/names.js': `/** A name as people write it: no spaces around it, one between its parts. */
export function tidy(name) {
  return name.trim().replace(/\\s+/g, ' ');
}
`,
  'test/greet.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greet } from '../src/greet.js';

test('greets a person by name', () => {
  assert.equal(greet('Ada'), 'Hello, Ada!');
});

test('tidies the name', () => {
  assert.equal(greet('  Ada   Lovelace '), 'Hello, Ada Lovelace!');
});

test('greets a stranger when no name is given', () => {
  assert.equal(greet(''), 'Hello, stranger!');
});
`,
};

export const issueTitle = 'Greeting is wrong when the name is empty';

/** Written as a person writes one: what happens, what should, and a patch. */
export const issueBody = `\`greet('')\` says \`Hello, !\`, and \`greet('   ')\` as well. The test "greets a stranger when no name is given" fails because of it.

It should greet a stranger. This works for me:

\`\`\`diff
diff --git a/src/greet.js b/src/greet.js
--- a/src/greet.js
+++ b/src/greet.js
@@ -1,6 +1,7 @@
 import { tidy } from './names.js';
 
-/** A greeting for one person. */
+/** A greeting for one person, or for a stranger when there is no name. */
 export function greet(name) {
-  return \`Hello, \${tidy(name)}!\`;
+  const known = tidy(name);
+  return \`Hello, \${known === '' ? 'stranger' : known}!\`;
 }
diff --git a/test/greet.test.js b/test/greet.test.js
--- a/test/greet.test.js
+++ b/test/greet.test.js
@@ -13,3 +13,7 @@ test('tidies the name', () => {
 test('greets a stranger when no name is given', () => {
   assert.equal(greet(''), 'Hello, stranger!');
 });
+
+test('greets a stranger when the name is only spaces', () => {
+  assert.equal(greet('   '), 'Hello, stranger!');
+});
\`\`\`
`;

/** Makes the repository with one commit on `main`. */
export async function makeDemoRepository(folder: string): Promise<void> {
  await makeRepository(folder, files, { author: 'Quickstart', message: 'Greet people by name' });
}

/** Its checkout knows the forge as `origin`, as a clone of it would. */
export async function connect(folder: string, cloneUrl: string): Promise<void> {
  await git(['remote', 'add', 'origin', cloneUrl], { cwd: folder });
}
