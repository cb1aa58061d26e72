import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { reachedDeclarations } from '../../scripts/build-package/declarations.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** What is left of these files, as the compiler writes them, if `a` is the entry. */
function leftOf(texts: Readonly<Record<string, string>>): Record<string, string> {
  const folder = temporaryFolder('declarations')
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(folder, `${name}.d.ts`), text)
  }
  const left = reachedDeclarations([join(folder, 'a.d.ts')])
  return Object.fromEntries(
    Object.keys(texts).flatMap((name) => {
      const text = left.get(join(folder, `${name}.d.ts`))
      return text === undefined ? [] : [[name, text]]
    }),
  )
}

describe('The declarations in the package', () => {
  it('are those that the exports of an entry lead to, with what is said of them.', () => {
    const left = leftOf({
      a: `import { type B, type Unused } from './b.ts';\n/** Makes one. */\nexport declare function a(b: B): Own;\ntype Own = {\n    readonly a: 1;\n};\ntype Nobody = 1;\nexport {};\n`,
      b: `import { C } from './c.ts';\n/**\n * A B.\n */\nexport declare class B extends C {\n}\nexport type Unused = Far;\ntype Far = 2;\n`,
      c: `export declare class C {\n}\nexport declare const d = 4;\n`,
      e: 'export type E = 5;\n',
    })
    expect(left).toEqual({
      a: `import { type B } from './b.ts';\n/** Makes one. */\nexport declare function a(b: B): Own;\ntype Own = {\n    readonly a: 1;\n};\nexport {};\n`,
      b: `import { C } from './c.ts';\n/**\n * A B.\n */\nexport declare class B extends C {\n}\n`,
      c: 'export declare class C {\n}\n',
    })
  })

  it('are found by any name: handed on, renamed, in a file that exports all, and named in their place.', () => {
    const left = leftOf({
      a: `export { type B as Renamed } from './b.ts';\nexport type * from './c.ts';\nexport declare const d: import("./d.ts").D;\n`,
      b: `export type { B } from './e.ts';\nexport type Unused = 1;\n`,
      c: 'export type C = typeof of;\ndeclare const of: 3;\n',
      d: 'export type D = 4;\nexport type Unused = 1;\n',
      e: 'export type B = 2;\nexport type Unused = 1;\n',
    })
    expect(left).toEqual({
      a: `export { type B as Renamed } from './b.ts';\nexport type * from './c.ts';\nexport declare const d: import("./d.ts").D;\n`,
      b: `export type { B } from './e.ts';\n`,
      c: 'export type C = typeof of;\ndeclare const of: 3;\n',
      d: 'export type D = 4;\n',
      e: 'export type B = 2;\n',
    })
  })

  it('keep what comes from another package, and no import that declares nothing.', () => {
    const of = `import type { S, T } from 'elsewhere';\nexport type A = S;\n`
    const { a } = leftOf({ a: `import './b.ts';\n${of}`, b: 'export {};\n' })
    expect(a).toBe(`import type { S } from 'elsewhere';\nexport type A = S;\n`)
  })

  it('do not build if one of them cannot be told.', () => {
    const build = () => leftOf({ a: 'export declare enum A {\n}\n' })
    expect(build).toThrow('Cannot tell what this declares: export declare enum A')
  })
})
