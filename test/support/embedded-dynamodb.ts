export {
  findDynoxide,
  noDynoxideError,
  type Platform,
} from '../../lib/local/stores/dynoxide-binary.ts'
