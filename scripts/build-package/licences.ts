import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Which packages the bundles contain, and their terms. A minified bundle says neither, and most licences
 * ask us to pass both on. Packages with the same text are listed together.
 */
export function licencesOf(root: string, inputs: Iterable<string>): string {
  const packages = new Set([...inputs].map(packageOf).filter((name) => name !== undefined))
  const terms = new Map<string, string[]>()
  for (const folder of [...packages].sort()) {
    const { name, version, license } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    ) as Manifest
    const text =
      textIn(join(root, folder)) ?? `It comes without a text, under the licence ${license}.`
    terms.set(text, [...(terms.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const parts = [...terms].map(([text, names]) => `${names.join('\n')}\n\n${text}`)
  return `${['The functions hold parts of these packages.', ...parts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

type Manifest = { readonly name: string; readonly version: string; readonly license: string }

/** `node_modules/a/node_modules/@b/c` of `node_modules/a/node_modules/@b/c/dist/d.js`. */
const packageOf = (path: string): string | undefined =>
  /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]

function textIn(folder: string): string | undefined {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(\.|$)/i.test(name))
  return file === undefined ? undefined : readFileSync(join(folder, file), 'utf8').trim()
}
