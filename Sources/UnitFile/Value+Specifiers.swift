extension Value {
    /// The value with each `%` and the following letter replaced. Positions still refer to the
    /// file.
    ///
    /// - Parameter resolve: returns the text for a letter, and throws a message for an unknown one.
    public func replacingSpecifiers(
        _ resolve: (Unicode.Scalar) throws(ValueError) -> String
    ) throws(ValueError) -> Value {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return self }
        var result = ""
        var pieces: [Piece] = []
        /// The offset in bytes of the old text.
        var offset = 0
        var remaining = self.pieces[...]
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            while let piece = remaining.first, piece.offset <= offset {
                pieces.append(Piece(offset: result.utf8.count, position: piece.position))
                remaining.removeFirst()
            }
            guard scalar == "%" else {
                result.unicodeScalars.append(scalar)
                offset += UTF8.width(scalar)
                continue
            }
            guard let letter = scalars.next() else {
                throw ValueError(
                    offset: offset, message: "nothing follows this %; a percent sign is %%")
            }
            do throws(ValueError) { result += try resolve(letter) } catch {
                throw ValueError(offset: offset, message: error.message)
            }
            offset += 1 + UTF8.width(letter)
            pieces.append(Piece(offset: result.utf8.count, position: position(at: offset)))
        }
        return Value(text: result, pieces: pieces.isEmpty ? self.pieces : pieces)
    }
}

extension Word {
    /// The same for one word. Its quotes and escapes are already resolved, so the value of a
    /// specifier is never split or unquoted.
    public func replacingSpecifiers(
        _ resolve: (Unicode.Scalar) throws(ValueError) -> String
    ) throws(ValueError) -> Word {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return self }
        let value = Value(
            text: text, pieces: [Value.Piece(offset: 0, position: Position(line: 1, column: 1))])
        do throws(ValueError) {
            return Word(text: try value.replacingSpecifiers(resolve).text, offset: offset)
        } catch {
            // The offset is exact unless quotes or escapes precede it in the word.
            throw ValueError(offset: offset + error.offset, message: error.message)
        }
    }
}
