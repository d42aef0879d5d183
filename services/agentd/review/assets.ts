import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { NotFound } from '#kit/errors.ts';
import { type Route, route } from '#kit/http/route.ts';

/**
 * Scripts, styles and pictures of the page, each at a fixed path, with its content's hash in the address. A script that another
 * imports is asked for without it, and so asked for again each time.
 */

const require = createRequire(import.meta.url);
const own = (name: string) => new URL(`client/${name}`, import.meta.url);

const sources = {
  'htmx.js': {
    type: 'text/javascript; charset=utf-8',
    file: () => require.resolve('htmx.org/dist/htmx.min.js'),
  },
  'review.js': script('review.js'),
  'diff.js': script('diff.js'),
  'diff-chunks.js': script('diff-chunks.js'),
  'diff-comments.js': script('diff-comments.js'),
  'diff-keys.js': script('diff-keys.js'),
  'diff-search.js': script('diff-search.js'),
  'diff-store.js': script('diff-store.js'),
  'review.css': { type: 'text/css; charset=utf-8', file: () => own('review.css') },
  'diff.css': { type: 'text/css; charset=utf-8', file: () => own('diff.css') },
  'icon.svg': { type: 'image/svg+xml', file: () => own('icon.svg') },
} as const;

function script(name: string) {
  return { type: 'text/javascript; charset=utf-8', file: () => own(name) };
}

type AssetName = keyof typeof sources;

interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  /** sha256 in base64, as `integrity` has it. */
  readonly hash: string;
}

const loaded = new Map<AssetName, Asset>();

function asset(name: AssetName): Asset {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const { type, file } = sources[name];
  const bytes = readFileSync(file());
  const read = { type, bytes, hash: createHash('sha256').update(bytes).digest('base64') };
  loaded.set(name, read);
  return read;
}

export function assetPath(name: AssetName): string {
  return `/assets/${name}?v=${encodeURIComponent(asset(name).hash.slice(0, 16))}`;
}

export function assetIntegrity(name: AssetName): string {
  return `sha256-${asset(name).hash}`;
}

export function assetRoutes(): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/assets/{name}',
        summary: 'Scripts and styles of the review page',
        scope: null,
        isPage: true,
        query: { v: { description: 'Hash of its content', schema: { type: 'string' } } },
        answers: { 200: { description: 'The file', content: 'text/css' } },
      },
      async ({ params, query, header }) => {
        const name = params.name!;
        if (!Object.hasOwn(sources, name))
          throw new NotFound('path_not_found', `there is nothing at /assets/${name}`);
        const { type, bytes, hash } = asset(name as AssetName);
        const lasting = query.v === undefined ? 'no-cache' : 'public, max-age=31536000, immutable';
        const headers = { ETag: `"${hash}"`, 'Cache-Control': lasting };
        if (header('if-none-match') === headers.ETag)
          return { status: 304, headers, content: { type, bytes: '' } };
        return { headers, content: { type, bytes } };
      },
    ),
  ];
}
