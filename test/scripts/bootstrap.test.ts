import { describe, expect, test } from 'vitest'
import { missing } from '../../scripts/bootstrap.mjs'

const path = 'node_modules/a'
const wanted = { version: '1.0.0', integrity: 'sha512-x' }

describe('what bootstrap has to install', () => {
  test.each([
    { name: 'nothing where all is the same', lock: wanted, installed: wanted, result: [] },
    { name: 'an absent package', lock: wanted, installed: undefined, result: [path] },
    {
      name: 'another version',
      lock: wanted,
      installed: { ...wanted, version: '1.0.1' },
      result: [path],
    },
    {
      name: 'the same version with other content',
      lock: wanted,
      installed: { ...wanted, integrity: 'sha512-y' },
      result: [path],
    },
    {
      name: 'not an optional package of another platform',
      lock: { ...wanted, optional: true },
      installed: undefined,
      result: [],
    },
    {
      name: 'an optional package that is installed in another version',
      lock: { ...wanted, optional: true },
      installed: { ...wanted, version: '0.9.0' },
      result: [path],
    },
    {
      name: 'not an entry written by hand, whose integrity only npm knows',
      lock: { version: '1.0.0', optional: true },
      installed: wanted,
      result: [],
    },
    { name: 'not a link', lock: { link: true }, installed: undefined, result: [] },
  ])('$name', ({ lock, installed, result }) => {
    const packages = { '': { version: '9.9.9' }, [path]: lock }
    expect(missing({ packages }, installed ? { packages: { [path]: installed } } : {})).toEqual(
      result,
    )
  })

  test('not a folder of this repository, which is where it is', () => {
    const packages = { '': { version: '9.9.9' }, emulator: { version: '1.0.0' } }
    expect(missing({ packages }, {})).toEqual([])
  })
})
