import { describe, expect, test } from 'vitest'
import { helpOf, readArguments } from '../../../local/console/start-options.ts'

const options = (...args: string[]) => {
  const read = readArguments(args)
  return read.kind === 'start' ? read.options : read
}

describe('the arguments of npm start', () => {
  test.each([
    { name: 'none', args: [], result: { port: 8000, directory: '.pushpop' } },
    { name: 'a port', args: ['--port', '8123'], result: { port: 8123, directory: '.pushpop' } },
    { name: 'a port with =', args: ['--port=0'], result: { port: 0, directory: '.pushpop' } },
    { name: 'a folder', args: ['--data', 'a=b'], result: { port: 8000, directory: 'a=b' } },
    { name: 'no folder', args: ['--memory'], result: { port: 8000 } },
    { name: 'an app', args: ['--app', 'x.ts', '--memory'], result: { port: 8000, app: 'x.ts' } },
    {
      name: 'the last of two',
      args: ['--port', '1', '--port', '2'],
      result: { port: 2, directory: '.pushpop' },
    },
    { name: 'help', args: ['--port', '1', '--help'], result: { kind: 'help' } },
    { name: 'help in short', args: ['-h'], result: { kind: 'help' } },
  ])('$name', ({ args, result }) => {
    expect(options(...args)).toEqual(result)
  })

  test.each([
    { args: ['--prot', '1'], says: 'there is no option "--prot"' },
    { args: ['8000'], says: 'there is no option "8000"' },
    { args: ['--port'], says: '--port needs a value' },
    { args: ['--data='], says: '--data needs a value' },
    { args: ['--memory=yes'], says: '--memory takes no value' },
    { args: ['--port', '70000'], says: '--port must be a number from 0 to 65535, not "70000"' },
    { args: ['--port', 'x'], says: '--port must be a number from 0 to 65535, not "x"' },
    { args: ['--memory', '--data', 'x'], says: '--memory and --data contradict each other' },
  ])('$args are refused', ({ args, says }) => {
    expect(readArguments(args)).toEqual({
      kind: 'wrong',
      sentence: `Cannot start because ${says}; npm start -- --help lists what there is`,
    })
  })

  test('help has a line for each option', () => {
    for (const name of ['--port N', '--data DIR', '--memory', '--app FILE', '--help']) {
      expect(helpOf('npm start --')).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    }
  })
})
