import { describe, expect, test } from 'vitest'
import { helpOf, readArguments } from '../../../local/terminal/start-options.ts'

const options = (...args: string[]) => {
  const read = readArguments(args)
  return read.kind === 'start' ? read.options : read
}

describe('the arguments of npm start', () => {
  test.each([
    ['none', [], { port: 8000, directory: '.pushpop' }],
    ['a port', ['--port', '8123'], { port: 8123, directory: '.pushpop' }],
    ['a port with =', ['--port=0'], { port: 0, directory: '.pushpop' }],
    ['a folder', ['--data', 'a=b'], { port: 8000, directory: 'a=b' }],
    ['no folder', ['--memory'], { port: 8000 }],
    ['an app', ['--app', 'x.ts', '--memory'], { port: 8000, app: 'x.ts' }],
    ['the last of two', ['--port', '1', '--port', '2'], { port: 2, directory: '.pushpop' }],
    ['help', ['--port', '1', '--help'], { kind: 'help' }],
    ['help in short', ['-h'], { kind: 'help' }],
  ])('%s', (_, args, result) => {
    expect(options(...args)).toEqual(result)
  })

  test.each([
    [['--prot', '1'], 'there is no option "--prot"'],
    [['8000'], 'there is no option "8000"'],
    [['--port'], '--port needs a value'],
    [['--data='], '--data needs a value'],
    [['--memory=yes'], '--memory takes no value'],
    [['--port', '70000'], '--port must be a number from 0 to 65535, not "70000"'],
    [['--port', 'x'], '--port must be a number from 0 to 65535, not "x"'],
    [['--memory', '--data', 'x'], '--memory and --data contradict each other'],
  ])('%s are refused', (args, says) => {
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
