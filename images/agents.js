// Installs the coding agents that an image shall have: `node agents.js TARGET VERSIONS NAMES`, with names as in agents.json
// (`opencode,claude`; empty: none) and the package.json that pins the versions which the tests drive.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const packages = {
  claude: '@agentclientprotocol/claude-agent-acp',
  codex: '@agentclientprotocol/codex-acp',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
};

const [target, versions, list = ''] = process.argv.slice(2);
const names = list.split(',').flatMap((name) => name.trim() || []);
const unknown = names.find((name) => !Object.hasOwn(packages, name));
if (unknown !== undefined) {
  const choices = Object.keys(packages).join(', ');
  process.stderr.write(
    `CORE_AGENTS: ${unknown} is not an agent that Core knows; choose of ${choices}, separated by commas\n`,
  );
  process.exit(2);
}
mkdirSync(join(target, 'node_modules/.bin'), { recursive: true });
if (names.length > 0) install();

function install() {
  const { dependencies: pinned } = JSON.parse(readFileSync(versions, 'utf8'));
  const dependencies = Object.fromEntries(names.map((name) => [packages[name], pinned[packages[name]]]));
  writeFileSync(
    join(target, 'package.json'),
    JSON.stringify({ name: 'core-agents', private: true, dependencies }),
  );
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', target], {
    stdio: 'inherit',
  });
  if (names.includes('opencode')) placeOpenCode();
}

/** What its install script would do, for any processor: it chooses by the one that it runs on. */
function placeOpenCode() {
  const modules = join(target, 'node_modules');
  const chosen = { x64: 'opencode-linux-x64-baseline', arm64: 'opencode-linux-arm64' }[process.arch];
  if (chosen === undefined) throw new Error(`OpenCode has no program for ${process.arch}`);
  const program = join(modules, chosen, 'bin/opencode');
  chmodSync(program, 0o755);
  rmSync(join(modules, '.bin/opencode'), { force: true });
  symlinkSync(`../${chosen}/bin/opencode`, join(modules, '.bin/opencode'));
  if (chosen.endsWith('-baseline')) rmSync(join(modules, 'opencode-linux-x64'), { recursive: true, force: true });
}
