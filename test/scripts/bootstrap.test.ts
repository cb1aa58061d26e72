import { describe, expect, test } from 'vitest'
import { installing, missing } from '../../scripts/bootstrap.mjs'

const path = 'node_modules/a'
const wanted = { version: '1.0.0', integrity: 'sha512-x' }

describe('what bootstrap has to install', () => {
  test.each([
    ['nothing where all is the same', wanted, wanted, []],
    ['an absent package', wanted, undefined, [path]],
    ['another version', wanted, { ...wanted, version: '1.0.1' }, [path]],
    ['the same version with other content', wanted, { ...wanted, integrity: 'sha512-y' }, [path]],
    ['not an optional package of another platform', { ...wanted, optional: true }, undefined, []],
    [
      'an optional package that is installed in another version',
      { ...wanted, optional: true },
      { ...wanted, version: '0.9.0' },
      [path],
    ],
    [
      'not an entry written by hand, whose integrity only npm knows',
      { version: '1.0.0', optional: true },
      wanted,
      [],
    ],
    ['not a link', { link: true }, undefined, []],
  ])('%s', (_, lock, installed, result) => {
    const packages = { '': { version: '9.9.9' }, [path]: lock }
    expect(missing({ packages }, installed ? { packages: { [path]: installed } } : {})).toEqual(
      result,
    )
  })

  test('not a folder of this repository, which is where it is', () => {
    const packages = { '': { version: '9.9.9' }, dynoxide: { version: '1.0.0' } }
    expect(missing({ packages }, {})).toEqual([])
  })
})

test('A fresh clone has nothing that could differ from the lock file.', () => {
  expect(installing(false)).toBe('Installing dependencies (npm ci)')
  expect(installing(true)).toMatch(/: node_modules differs from package-lock\.json$/)
})
