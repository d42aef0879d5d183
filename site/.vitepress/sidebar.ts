import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface SidebarGroup {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: readonly SidebarItem[];
}

export interface SidebarItem {
  readonly text: string;
  /** The page without `.md`, from the site's folder. */
  readonly link: string;
}

const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    'Begin',
    [
      ['what-it-is', 'What Core is'],
      ['getting-started', 'Getting started'],
      ['concepts', 'Concepts'],
      ['running', 'Run the services'],
    ],
  ],
  [
    'How to',
    [
      ['guide-github', 'Use GitHub'],
      ['guide-gitea', 'Use Gitea or Forgejo'],
      ['guide-model', 'Use a model'],
      ['agents', 'Plan with a coding agent'],
      ['agent-claude', 'Claude Code'],
      ['agent-codex', 'Codex'],
      ['agent-opencode', 'OpenCode'],
      ['agent-gemini', 'Gemini CLI'],
      ['bridge', 'Connect a dashboard'],
      ['schedules', 'Plan on a schedule'],
      ['mcp', 'Use Core from another agent'],
      ['guide-teams', 'Work as a team'],
      ['guide-signed-approvals', 'Sign approvals'],
      ['guide-who-must-agree', 'Who must agree'],
      ['guide-inbox', 'Know what waits for you'],
      ['guide-notifications', 'Be told where you are'],
      ['guide-remote-access', 'Reach it from elsewhere'],
      ['terminal', 'Decide in the terminal'],
      ['review', 'Review in the browser'],
      ['guide-single-sign-on', 'Sign in by an identity provider'],
      ['docker', 'Run it in containers'],
      ['kubernetes', 'Run it on Kubernetes'],
      ['guide-several-hosts', 'Choose a size'],
      ['guide-laptop', 'Size: a laptop'],
      ['guide-one-server', 'Size: one server'],
      ['guide-two-hosts', 'Two hosts without containers'],
      ['guide-three-hosts', 'Size: three hosts'],
      ['guide-tokens-on-several-hosts', 'Tokens on several hosts'],
      ['guide-region', 'Size: a region'],
      ['monitoring', 'Watch it'],
      ['runbook', 'Runbook'],
      ['backup', 'Back up and restore'],
      ['upgrade', 'Upgrade'],
    ],
  ],
  [
    'Understand',
    [
      ['planners', 'Planners and roles'],
      ['validation-and-sandbox', 'Validation and sandbox'],
      ['agents-sandbox', 'The sandbox of an agent'],
      ['recovery', 'Recovery'],
      ['context', 'Graph and memory'],
      ['graph-model', "The graph's model"],
      ['models', 'Models'],
      ['forges', 'Forges'],
      ['bus', 'The bus'],
      ['bus-engine', "The bus's engine"],
      ['run-folder', 'The run folder'],
      ['security', 'Security'],
      ['threat-model', 'Threat model'],
      ['architecture', 'Architecture'],
    ],
  ],
  [
    'Reference',
    [
      ['commands', 'Commands'],
      ['reference/commands', 'Commands and flags'],
      ['configuration', 'Configuration'],
      ['reference/settings', 'Every setting'],
      ['http-api', 'HTTP API'],
      ['reference/core-agentd', 'core-agentd over HTTP'],
      ['reference/core-context', 'core-context over HTTP'],
      ['reference/core-model-gateway', 'core-model-gateway over HTTP'],
      ['reference/core-bridge', 'core-bridge over HTTP'],
      ['status', 'Status report'],
      ['errors', 'Errors'],
    ],
  ],
  [
    'About',
    [
      ['figures', 'Figures'],
      ['comparison', 'Compared with others'],
      ['reference/changes', 'Changes'],
    ],
  ],
];

const site = fileURLToPath(new URL('../', import.meta.url));

/** Pages that lie in the site's folder, those that are generated included. */
export function pagesThere(folder = site): string[] {
  return globSync(['*.md', 'reference/*.md'], { cwd: folder })
    .map((path) => path.replace(/\.md$/, ''))
    .filter((page) => page !== 'index')
    .sort();
}

/** What is in the groups above, where it is there; what is in none of them stands under More, so that no page is lost. */
export function sidebarOf(pages: readonly string[]): SidebarGroup[] {
  const all = groups.map(([text, items]) => ({
    text,
    items: items
      .filter(([page]) => pages.includes(page))
      .map(([page, title]) => ({ text: title, link: `/${page}` })),
  }));
  const grouped = all.filter(({ items }) => items.length > 0);
  const known = new Set(groups.flatMap(([, items]) => items.map(([page]) => page)));
  const others = pages.filter((page) => !known.has(page));
  if (others.length === 0) return grouped;
  return [
    ...grouped,
    { text: 'More', items: others.map((page) => ({ text: titleOf(page), link: `/${page}` })) },
  ];
}

function titleOf(page: string): string {
  const words = page.replace(/^.*\//, '').replaceAll('-', ' ');
  return `${words[0]!.toUpperCase()}${words.slice(1)}`;
}
