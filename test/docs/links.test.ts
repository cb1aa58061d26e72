// Every link of every page leads somewhere, and every file that a page names is there.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const elsewhere = ['node_modules', 'cdk.out', 'dist', '.git', '.pushpop']
const files = globSync('**/*', {
  cwd: root,
  exclude: (path) => elsewhere.some((name) => path.split(sep).includes(name)),
}).map((file) => file.replaceAll(sep, '/'))
const folders = new Set(files.map((file) => `${dirname(file)}/`))
const pages = files.filter((file) => file.endsWith('.md'))

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '')

/** As GitHub makes them of headings. */
const anchorsOf = (text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

const brokenLinksOf = (page: string): readonly string[] =>
  [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => {
      if (/^[a-z]+:/.test(link)) return false
      const [path = '', anchor] = link.split('#')
      const file = path === '' ? page : normalize(join(dirname(page), path))
      if (!files.includes(file)) return true
      return anchor !== undefined && !anchorsOf(read(file)).includes(anchor)
    })

/** What a page says in code that looks like a file or folder of ours: its end must match one. (`src/` is yours.) */
const missingFilesOf = (page: string): readonly string[] =>
  [...withoutCode(read(page)).matchAll(/`([\w./-]+\/[\w.-]*)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => /\.(ts|mjs)$|^(lambdas|lib|local|test|testing|cli|client)\//.test(name))
    .filter((name) => !name.startsWith('src/'))
    .map((name) => name.replace(/^\.\//, ''))
    .filter((name) => {
      const isFile = files.some((file) => file === name || file.endsWith(`/${name}`))
      return !isFile && ![...folders].some((folder) => folder.startsWith(name))
    })

describe.each(pages)('%s', (page) => {
  it('has no link that leads nowhere', () => expect(brokenLinksOf(page)).toEqual([]))
  it('names no file that is not there', () => expect(missingFilesOf(page)).toEqual([]))
})
