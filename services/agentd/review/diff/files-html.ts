import { treeOf } from '#kit/diff/file-tree.ts';
import { shownPath } from '#kit/diff/line-text.ts';
import type { Patch, PatchFile } from '#kit/diff/patch.ts';
import { type Html, html, nothing } from '../html.ts';
import type { Chunk, Section } from './rows.ts';

/** The files of a patch as a list of links, under their folders. */
export function treeHtml({ files }: Patch, id: (file: number) => string): Html {
  const rows = treeOf(files).map(({ file, name, depth }) => {
    const level = `level-${depth}`;
    if (file === null) return html`<li class="folder ${level}">${shownPath(name)}/</li>`;
    const { added, removed } = files[file]!;
    return html`<li class="${level}"><a href="#${id(file)}" data-file="${file}"><span class="name">${shownPath(name)}</span> <span class="plus">+${added}</span> <span class="minus">−${removed}</span></a></li>`;
  });
  return html`<nav class="diff-tree" aria-label="Files"><ul>${rows}</ul></nav>`;
}

export interface SectionHtml {
  readonly patch: Patch;
  readonly section: Section;
  readonly id: (file: number) => string;
  /** The rows of a chunk; null where they are fetched later. */
  readonly rows: (chunk: Chunk) => Html | null;
  /** Where the rows of a folded chunk are. */
  readonly address: (chunk: Chunk) => string;
  /** What leads to the lines behind the last hunk of a file. */
  readonly after: (file: number) => Html;
}

/** A file: its heading and its table. */
export function sectionHtml(options: SectionHtml): Html {
  const { patch, section, id } = options;
  const file = patch.files[section.file];
  const path = file === undefined ? '' : shownPath(file.path);
  const label = file === undefined ? 'Before the first file' : `Changes of ${path}`;
  return html`<section class="diff-file" id="${id(section.file)}" data-file="${section.file}" data-path="${path}" data-columns="${section.columns}" data-hunks="${section.hunks.join(' ')}">
${file === undefined ? nothing : headingHtml(file, path)}
<div class="diff-body" tabindex="0" role="region" aria-label="${label}"><div role="table" aria-label="${label}">
<div role="rowgroup" class="unseen"><div role="row"><span role="columnheader">Line before</span><span role="columnheader">Line after</span><span role="columnheader">Text</span></div></div>
${section.chunks.map((chunk) => chunkHtml(options, chunk))}
${section.file < 0 ? nothing : options.after(section.file)}</div></div>
</section>`;
}

function headingHtml({ oldPath, status, nature, added, removed }: PatchFile, path: string): Html {
  const from = oldPath === null ? nothing : html` <span class="from">from ${shownPath(oldPath)}</span>`;
  const what = nature === '' ? status : `${status}, ${nature}`;
  return html`<header class="diff-name"><h3><button type="button" data-do="fold" aria-expanded="true"><span class="path">${path}</span></button></h3>${from} <span class="status ${nature === '' ? '' : 'notable'}">${what}</span> <span class="plus">+${added}</span> <span class="minus">−${removed}</span> <label class="viewed"><input type="checkbox" data-do="viewed"> Viewed</label></header>`;
}

const foldedNames: Readonly<Record<NonNullable<Chunk['folded']>, string>> = {
  header: 'lines of the header',
  context: 'unchanged lines',
  binary: 'lines of binary content',
};

/** Folded rows are behind a link, which works without a script too. */
function chunkHtml({ rows, address }: SectionHtml, chunk: Chunk): Html {
  const { from, end, folded } = chunk;
  const facts = html`data-from="${from}" data-end="${end}"`;
  if (folded !== null) {
    return html`<div role="rowgroup" class="chunk folded" ${facts}><div role="row" class="row whole"><span role="cell" class="code"><a data-do="unfold" href="${address(chunk)}">Show ${end - from} ${foldedNames[folded]}</a></span></div></div>`;
  }
  const content = rows(chunk);
  return content === null
    ? html`<div class="chunk" ${facts}></div>`
    : html`<div role="rowgroup" class="chunk filled" ${facts}>${content}</div>`;
}
